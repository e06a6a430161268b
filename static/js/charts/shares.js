/** Pairs: for every two systems a bar of preferences for the first, ties, and preferences for the second. */

import { scaleLinear } from "../../vendor/d3.js";
import { LINE, TEXT, below, colour, appendMark, wrap, write } from "./stage.js";

/**
 * @typedef {import("./stage.js").Selection} Selection
 * @typedef {{series: number, from: number, to: number, words: string[], href: string}} Part
 * @typedef {{first: string, second: string, parts: Part[]}} Row
 * @typedef {{panels: {title: string, rows: Row[]}[], series: string[], axis: string}} Plot
 */

const BAR = 24;
const EDGE = 12;
// Ties are palest, so that the preferences at both sides stand out.
const FILLS = [
  { fill: colour(0), opacity: 1 },
  { fill: "var(--chart-grid)", opacity: 0.35 },
  { fill: colour(1), opacity: 1 },
];

/**
 * @param {Selection} svg
 * @param {Plot} plot
 * @param {number} width
 * @param {Set<string>} hidden
 */
export function shares(svg, plot, width, hidden) {
  const x = scaleLinear().domain([0, 100]).range([EDGE, width - EDGE]);
  let top = key(svg, plot.series, width);
  let group = 0;
  for (const panel of plot.panels) {
    top += wrap(svg, 0, top + TEXT + 4, panel.title, width, { weight: "700" }) * LINE + 8;
    for (const row of panel.rows.filter((each) => !hidden.has(each.first) && !hidden.has(each.second))) {
      write(svg, EDGE, top + TEXT, row.first, { width: width / 2 - EDGE - 8 });
      write(svg, width - EDGE, top + TEXT, row.second, { anchor: "end", width: width / 2 - EDGE - 8 });
      for (const part of row.parts) drawPart(svg, part, x, top + LINE, group);
      [top, group] = [top + LINE + BAR + 14, group + 1];
    }
    below(svg, x, top, [0, 25, 50, 75, 100]);
    write(svg, width / 2, top + 24 + TEXT, plot.axis, { anchor: "middle", ink: "var(--ink-soft)" });
    top += 24 + TEXT + 22;
  }
  return top;
}

/** @param {Selection} svg @param {Part} part @param {import("./stage.js").Scale} x @param {number} y @param {number} group */
function drawPart(svg, part, x, y, group) {
  if (part.from === part.to) return;
  const bar = appendMark(svg, part, group).append("rect").attr("class", "mark__shape");
  bar.attr("x", x(part.from) + 0.5).attr("width", Math.max(1, x(part.to) - x(part.from) - 1)).attr("y", y).attr("height", BAR);
  bar.attr("fill", FILLS[part.series].fill).attr("fill-opacity", FILLS[part.series].opacity);
}

/** Draw the key of the parts; return its height. @param {Selection} svg @param {string[]} titles @param {number} width */
function key(svg, titles, width) {
  let [x, y] = [0, TEXT];
  titles.forEach((title, nth) => {
    const text = write(svg, x + 20, y, title, { width: width - 20 });
    const needs = 20 + /** @type {SVGTextElement} */ (text.node()).getComputedTextLength();
    if (x && x + needs > width) {
      [x, y] = [0, y + LINE];
      text.attr("x", 20).attr("y", y);
    }
    const patch = svg.append("rect").attr("x", x).attr("y", y - 11).attr("width", 14).attr("height", 12);
    patch.attr("fill", FILLS[nth].fill).attr("fill-opacity", FILLS[nth].opacity);
    x += needs + 18;
  });
  return y + 12;
}
