/** Scores: a row for each system, in it a dot with its whisker for each score. */

import { scaleLinear } from "../../vendor/d3.js";
import { LINE, TEXT, below, colour, dot, legend, widthOf, wrap, write } from "./stage.js";

/**
 * @typedef {import("./stage.js").Selection} Selection
 * @typedef {import("./stage.js").Mark & {series: number}} Mark
 * @typedef {{system: string, heading?: string, says: string, published: boolean, marks: Mark[]}} Row
 * @typedef {{series: number, value: number, low: number | null, high: number | null}} Guide
 * @typedef {{axis: string, low: number, high: number, series: string[], main: string, guide: Guide | null, rows: Row[]}} Panel
 */

const EDGE = 9; // so that a mark at an end of the axis is not cut
const ROOMY = 480;
const MARGIN = 12; // between a name and the first mark or line to its right
const STEP = 24; // pixels for each mark of a row: a finger finds it

/**
 * @param {Selection} svg
 * @param {{panels: Panel[], published: string}} plot
 * @param {number} width
 * @param {Set<string>} hidden
 */
export function forest(svg, plot, width, hidden) {
  return plot.panels.reduce((top, panel) => top + drawPanel(svg, panel, top, width, hidden, plot.published), 0);
}

/**
 * @param {Selection} svg
 * @param {Panel} panel
 * @param {number} top
 * @param {number} width
 * @param {Set<string>} hidden
 * @param {string} heading
 */
function drawPanel(svg, panel, top, width, hidden, heading) {
  const into = svg.append("g").attr("transform", `translate(0 ${top})`);
  const x = scaleLinear().domain([panel.low, panel.high]).range([EDGE, width - EDGE]);
  const ticks = panel.high === 100 && panel.low === 0 ? [0, 25, 50, 75, 100] : x.ticks(5);
  const start = legend(into, panel.series, 0, width) + 4;
  const under = into.append("g");
  const rows = panel.rows.filter((row) => row.published || !hidden.has(row.system));
  let y = start;
  let hasHeading = false;
  rows.forEach((row, nth) => {
    if (row.published && !hasHeading) {
      y += LINE + 4;
      write(into, 0, y, heading).attr("font-style", "italic");
      [y, hasHeading] = [y + 6, true];
    }
    if (row.heading) {
      write(into, 0, y + TEXT + 8, row.heading, { weight: "700", width });
      y += LINE + 10;
    }
    const clear = Math.min(...ticks.slice(1).map(x), ...row.marks.map((mark) => x(mark.value))) - MARGIN;
    const isBeside = row.published && writeBeside(into, row, y, clear);
    const from = isBeside ? y : writeName(into, row, width < ROOMY ? "" : panel.main, y, width);
    const lines = row.published ? 1 : panel.series.length;
    const to = from + lines * STEP;
    for (const tick of ticks) rule(under, x(tick), from, to);
    for (const mark of row.marks) {
      drawMark(into, mark, x, from + ((row.published ? 0 : mark.series) + 0.5) * STEP, nth, row.published);
    }
    y = to + 4;
  });
  if (panel.guide) drawGuide(under, panel.guide, x, start, y);
  below(into, x, y, ticks);
  write(into, width / 2, y + 24 + TEXT, panel.axis, { anchor: "middle", ink: "var(--ink-soft)" });
  return y + 24 + TEXT + 8;
}

/**
 * Write a name on the line of its marks, unless it would reach beyond `clear`; return whether it stands there.
 *
 * @param {Selection} into
 * @param {Row} row
 * @param {number} y top of the row
 * @param {number} clear
 */
function writeBeside(into, row, y, clear) {
  const name = write(into, EDGE + 6, y + STEP / 2 + TEXT / 3, row.system, { weight: "400" });
  const fits = EDGE + 6 + widthOf(name) <= clear;
  if (!fits) name.remove();
  return fits;
}

/**
 * Write name and numbers above the marks of a row; return the top of the marks.
 *
 * @param {Selection} into
 * @param {Row} row
 * @param {string} score name of the score of the numbers
 * @param {number} y
 * @param {number} width
 */
function writeName(into, row, score, y, width) {
  const line = y + TEXT + 4;
  const weight = row.published || row.heading !== undefined ? "400" : "700";
  const says = row.says ? write(into, width, line, `${score} ${row.says}`.trim(), { anchor: "end" }) : null;
  const reserved = says ? widthOf(says) + 16 : 0;
  const name = write(into, 0, line, row.system, { weight });
  if (!says || widthOf(name) + reserved <= width) return line + 4;
  name.remove();
  const lines = wrap(into, 0, line, row.system, width, { weight });
  says.attr("y", line + lines * LINE).attr("x", 0).attr("text-anchor", "start");
  return line + lines * LINE + 4;
}

/** @param {Selection} into @param {number} x @param {number} from @param {number} to */
function rule(into, x, from, to) {
  into.append("line").attr("x1", x).attr("x2", x).attr("y1", from).attr("y2", to).attr("stroke", "var(--chart-grid)").attr("opacity", 0.35);
}

/**
 * @param {Selection} into
 * @param {Mark} mark
 * @param {import("./stage.js").Scale} x
 * @param {number} y
 * @param {number} group
 * @param {boolean} hollow
 */
function drawMark(into, mark, x, y, group, hollow) {
  const nth = mark.series;
  if (mark.low !== undefined && mark.high !== undefined) {
    const whisker = into.append("path").attr("d", `M ${x(mark.low)} ${y} L ${x(mark.high)} ${y}`);
    whisker.attr("stroke", colour(nth)).attr("stroke-width", 2.5).attr("stroke-linecap", "round").attr("fill", "none");
  }
  dot(into, mark, { x: x(mark.value), y, nth, group, hollow, size: hollow ? 56 : 96 });
}

/** Draw the score of people as a line with a band through all rows. @param {Selection} into @param {Guide} guide @param {import("./stage.js").Scale} x @param {number} from @param {number} to */
function drawGuide(into, guide, x, from, to) {
  if (guide.low !== null && guide.high !== null) {
    const band = into.append("rect").attr("x", x(guide.low)).attr("width", x(guide.high) - x(guide.low));
    band.attr("y", from).attr("height", to - from).attr("fill", colour(guide.series)).attr("opacity", 0.1);
  }
  const line = into.append("line").attr("x1", x(guide.value)).attr("x2", x(guide.value)).attr("y1", from).attr("y2", to);
  line.attr("stroke", colour(guide.series)).attr("stroke-dasharray", "4 3");
}
