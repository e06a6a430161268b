/** The course of conversations: a panel for each bot or figure, in it a line of points for each score or system. */

import { area, axisLeft, line as path, scaleLinear } from "../../vendor/d3.js";
import { LINE, TEXT, below, colour, dot, inNumbers, legend, plain, wrap, write } from "./stage.js";

/**
 * @typedef {import("./stage.js").Selection} Selection
 * @typedef {import("./stage.js").Scale} Scale
 * @typedef {import("./stage.js").Mark & {x: number, part?: string}} Point
 * @typedef {{name: string, system: string, band: boolean, whiskers?: boolean, points: Point[]}} Line
 * @typedef {{title: string, low: number | null, high: number | null, lines: Line[]}} Panel
 * @typedef {{panels: Panel[], across: string, axis: string, log?: boolean}} Plot
 */

const BODY = 170; // pixels of a panel between its title and its axis
const NARROWEST = 280;
const MOST_BESIDE = 3;
const SOFT = { size: TEXT - 1, ink: "var(--ink-soft)" };

/**
 * @param {Selection} svg
 * @param {Plot} plot
 * @param {number} width
 * @param {Set<string>} hidden
 */
export function lines(svg, plot, width, hidden) {
  const names = [...new Set(plot.panels.flatMap((panel) => panel.lines.map((each) => each.name)))];
  const panels = plot.panels
    .map((panel) => ({ ...panel, lines: visibleLines(panel.lines, hidden) }))
    .filter((panel) => panel.lines.length);
  let start = legend(svg, names, 0, width);
  if (plot.axis) start += wrap(svg, 0, start + TEXT, plot.axis, width, SOFT) * LINE;
  const columns = Math.max(1, Math.min(MOST_BESIDE, panels.length, Math.floor(width / NARROWEST)));
  const each = (width - 24 * (columns - 1)) / columns;
  let [top, lowest] = [start, start];
  panels.forEach((panel, nth) => {
    const column = nth % columns;
    if (column === 0) top = lowest;
    const into = svg.append("g").attr("transform", `translate(${column * (each + 24)} ${top})`);
    lowest = Math.max(lowest, top + drawPanel(into, panel, plot, each, names, nth));
  });
  return lowest;
}

/** Visible lines with their visible points. @param {Line[]} all @param {Set<string>} hidden */
function visibleLines(all, hidden) {
  return all
    .filter((each) => !hidden.has(each.system))
    .map((each) => ({ ...each, points: each.points.filter((point) => !hidden.has(point.part ?? "")) }))
    .filter((each) => each.points.length);
}

/**
 * @param {Selection} into
 * @param {Panel} panel
 * @param {Plot} plot
 * @param {number} width
 * @param {string[]} names
 * @param {number} place
 */
function drawPanel(into, panel, plot, width, names, place) {
  const start = wrap(into, 0, TEXT + 6, panel.title, width, { weight: "700" }) * LINE + 14;
  const y = upright(panel).range([start + BODY, start]);
  const wide = widest(y.ticks(5)) * 7.5 + 12;
  const along = scaleLinear().domain(ends(panel, plot.log)).range([wide + 10, width - 10]);
  const x = (/** @type {number} */ value) => along(plot.log ? Math.log(value) : value);
  const steps = plain(into.append("g").attr("transform", `translate(${wide} 0)`).call(axisLeft(y).tickValues(y.ticks(5)).tickFormat(inNumbers).tickSize(4).tickPadding(4)));
  steps.select("path").remove();
  for (const tick of y.ticks(5)) {
    const rule = into.append("line").attr("x1", wide).attr("x2", width).attr("y1", y(tick)).attr("y2", y(tick));
    rule.attr("stroke", "var(--chart-grid)").attr("opacity", 0.3);
  }
  const xs = new Set(panel.lines.flatMap((each) => each.points.map((p) => p.x)));
  const room = (width - wide) / (xs.size * (names.length + 1));
  const gap = panel.lines.some((each) => each.whiskers) || hasOverlap(panel) ? Math.min(7, room) : 0;
  for (const each of panel.lines) {
    const nth = names.indexOf(each.name);
    if (each.band) band(into, each, x, y, nth);
    // Points at one place are drawn side by side if they would cover each other.
    const offset = gap * (nth - (names.length - 1) / 2);
    if (each.whiskers) for (const point of each.points) whisker(into, point, x(point.x) + offset, y, nth);
    const stroke = path().x((/** @type {Point} */ p) => x(p.x) + offset).y((/** @type {Point} */ p) => y(p.value))(each.points);
    into.append("path").attr("d", stroke).attr("fill", "none").attr("stroke", colour(nth)).attr("stroke-width", 2);
    for (const point of each.points) dot(into, point, { x: x(point.x) + offset, y: y(point.value), nth, group: `${place}-${nth}`, size: 34 });
  }
  if (plot.log) logarithmic(into, panel, x, start + BODY);
  else below(into, along, start + BODY, whole(along, width));
  write(into, wide, start + BODY + 24 + TEXT, plot.across, { ...SOFT, width: width - wide });
  return start + BODY + 24 + TEXT + 22;
}

/** @param {Selection} into @param {Line} each @param {(value: number) => number} x @param {Scale} y @param {number} nth */
function band(into, each, x, y, nth) {
  const shape = area()
    .x((/** @type {Point} */ p) => x(p.x))
    .y0((/** @type {Point} */ p) => y(p.low ?? 0))
    .y1((/** @type {Point} */ p) => y(p.high ?? 0))
    .defined((/** @type {Point} */ p) => p.low !== undefined && p.high !== undefined)(each.points);
  into.append("path").attr("d", shape).attr("fill", colour(nth)).attr("opacity", 0.14);
}

/** True if two lines have the same value at the same place. @param {Panel} panel */
function hasOverlap(panel) {
  const all = panel.lines.flatMap((each) => each.points.map((p) => `${p.x} ${p.value}`));
  return new Set(all).size < all.length;
}

/** @param {Panel} panel */
function upright(panel) {
  const values = panel.lines.flatMap((each) => each.points.flatMap((p) => [p.value, p.low ?? p.value, p.high ?? p.value]));
  const low = panel.low ?? Math.min(...values);
  const high = panel.high ?? Math.max(...values);
  const scale = scaleLinear().domain(low === high ? [low - 1, high + 1] : [low, high]);
  return panel.low === null || panel.high === null ? scale.nice(5) : scale;
}

/** @param {Selection} into @param {Point} point @param {number} x @param {Scale} y @param {number} nth */
function whisker(into, point, x, y, nth) {
  if (point.low === undefined || point.high === undefined) return;
  const drawn = into.append("path").attr("d", `M ${x} ${y(point.low)} L ${x} ${y(point.high)}`);
  drawn.attr("stroke", colour(nth)).attr("stroke-width", 1.8).attr("stroke-linecap", "round").attr("fill", "none");
}

/** Ticks at the values of the points, on a logarithmic axis. @param {Selection} into @param {Panel} panel @param {(value: number) => number} x @param {number} y */
function logarithmic(into, panel, x, y) {
  for (const value of new Set(panel.lines.flatMap((each) => each.points.map((p) => p.x)))) {
    into.append("line").attr("x1", x(value)).attr("x2", x(value)).attr("y1", y).attr("y2", y + 4).attr("stroke", "var(--chart-grid)");
    write(into, x(value), y + 6 + TEXT, String(value), { ...SOFT, anchor: "middle" });
  }
}

/** @param {Panel} panel @param {boolean} [log] */
function ends(panel, log) {
  const all = panel.lines.flatMap((each) => each.points.map((p) => (log ? Math.log(p.x) : p.x)));
  const [first, last] = [Math.min(...all), Math.max(...all)];
  return first === last ? [first - 0.5, last + 0.5] : [first, last];
}

/** Ticks at whole numbers. @param {Scale} x @param {number} width */
function whole(x, width) {
  return x.ticks(Math.max(2, Math.floor(width / 40))).filter(Number.isInteger);
}

/** @param {number[]} ticks */
function widest(ticks) {
  return Math.max(...ticks.map((tick) => String(tick).length));
}
