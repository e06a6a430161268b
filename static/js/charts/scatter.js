/** Scatter plot of two measures: a dot with intervals for each system, perhaps with a fitted line. */

import { area, axisLeft, line as path, scaleLinear } from "../../vendor/d3.js";
import { LINE, TEXT, below, colour, dot, inNumbers, plain, wrap, write } from "./stage.js";

/**
 * @typedef {import("./stage.js").Selection} Selection
 * @typedef {import("./stage.js").Scale} Scale
 * @typedef {import("./stage.js").Mark & {system: string, published: boolean, across: {value: number, low?: number, high?: number}}} Point
 * @typedef {{at: number[], middle: number[], low: number[], high: number[]}} Fit
 * @typedef {{points: Point[], across: string, up: string, ends_across: [number, number] | null, ends_up: [number, number], fit?: Fit, shaded?: boolean, rules?: {name: string, y: number}[], published: string}} Plot
 */

const LARGEST = 460;
const EDGE = 12;
const KEY_GAP = 36;
const KEY_LEAST = 200; // if narrower, the key is below the plot
const MIN_DISTANCE = 9; // pixels between dots that would cover each other
const SOFT = { size: TEXT - 1, ink: "var(--ink-soft)" };

/**
 * @param {Selection} svg
 * @param {Plot} plot
 * @param {number} width
 * @param {Set<string>} hidden
 */
export function scatter(svg, plot, width, hidden) {
  const points = plot.points.filter((each) => each.published || !hidden.has(each.system));
  const top = wrap(svg, 0, TEXT, plot.up, width, SOFT) * LINE + 8;
  const side = Math.min(LARGEST, width - 44);
  const y = scaleLinear().domain(plot.ends_up).range([top + side, top]);
  const x = scaleLinear().domain(plot.ends_across ?? ends(plot.points)).range([44 + EDGE, 44 + side - EDGE]);
  if (!plot.ends_across) x.nice(4);
  grid(svg, x, y, side);
  if (plot.shaded) shade(svg, x, y);
  if (plot.fit) drawFit(svg, plot.fit, x, y);
  for (const rule of plot.rules ?? []) across(svg, rule, y, side);
  const studied = points.filter((each) => !each.published);
  const places = spread(points.map((each) => [x(each.across.value), y(each.value)]));
  const signs = placeSigns(places, points, (point) => whiskerBoxes(point, x, y));
  points.forEach((point, nth) => {
    whiskers(svg, point, x, y);
    const [left, up] = places[nth];
    dot(svg, point, { x: left, y: up, nth: point.published ? 1 : 0, group: 0, size: 90, hollow: point.published });
    const sign = signs[nth];
    const weight = point.published ? "400" : "700";
    write(svg, sign.left, sign.top + sign.height - 3, sign.says, { size: TEXT - 1, weight });
  });
  below(svg, x, top + side, x.ticks(5));
  const end = top + side + 24 + TEXT;
  const lines = wrap(svg, 44, end, plot.across, side, SOFT);
  const bottom = end + lines * LINE + 6;
  const keyWidth = width - 44 - side - KEY_GAP;
  if (keyWidth < KEY_LEAST) return key(svg, studied, plot, 0, bottom, width);
  return Math.max(bottom, key(svg, studied, plot, width - keyWidth, top - 6, keyWidth));
}

/** @param {Point[]} points @returns {[number, number]} */
function ends(points) {
  const all = points.flatMap(({ across: { value, low, high } }) => [value, low ?? value, high ?? value]);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return low === high ? [low - 1, high + 1] : [low, high];
}

/** @param {Selection} svg @param {Scale} x @param {Scale} y @param {number} side */
function grid(svg, x, y, side) {
  const axis = plain(svg.append("g").attr("transform", "translate(44 0)").call(axisLeft(y).tickValues(y.ticks(5)).tickFormat(inNumbers).tickSize(4).tickPadding(4)));
  axis.select("path").remove();
  for (const tick of y.ticks(5)) rule(svg, 44, 44 + side, y(tick), y(tick));
  const [bottom, top] = y.range();
  for (const tick of x.ticks(5)) rule(svg, x(tick), x(tick), bottom, top);
}

/** @param {Selection} svg @param {number} x1 @param {number} x2 @param {number} y1 @param {number} y2 */
function rule(svg, x1, x2, y1, y2) {
  return svg.append("line").attr("x1", x1).attr("x2", x2).attr("y1", y1).attr("y2", y2).attr("stroke", "var(--chart-grid)").attr("opacity", 0.35);
}

/** Shade the area where the horizontal measure is greater than the vertical one. @param {Selection} svg @param {Scale} x @param {Scale} y */
function shade(svg, x, y) {
  const [[left, right], [bottom, top]] = [x.range(), y.range()];
  svg.append("path").attr("d", `M ${left} ${bottom} L ${right} ${bottom} L ${right} ${top} Z`).attr("fill", "var(--ink)").attr("opacity", 0.06);
}

/** The line through the points with its band. @param {Selection} svg @param {Fit} fit @param {Scale} x @param {Scale} y */
function drawFit(svg, fit, x, y) {
  const [bottom, top] = y.range();
  const inside = (/** @type {number} */ value) => Math.max(top, Math.min(bottom, y(value)));
  const at = fit.at.map((_, nth) => nth);
  const band = area()
    .x((/** @type {number} */ n) => x(fit.at[n]))
    .y0((/** @type {number} */ n) => inside(fit.low[n]))
    .y1((/** @type {number} */ n) => inside(fit.high[n]))(at);
  svg.append("path").attr("d", band).attr("fill", colour(1)).attr("opacity", 0.14);
  const drawn = path().x((/** @type {number} */ n) => x(fit.at[n])).y((/** @type {number} */ n) => inside(fit.middle[n]))(at);
  svg.append("path").attr("d", drawn).attr("fill", "none").attr("stroke", colour(1)).attr("stroke-width", 2);
}

/** Draw a published system without a horizontal value as a line. @param {Selection} svg @param {{name: string, y: number}} of @param {Scale} y @param {number} side */
function across(svg, of, y, side) {
  rule(svg, 44, 44 + side, y(of.y), y(of.y)).attr("stroke-dasharray", "4 4").attr("opacity", 0.9);
}

/** @param {Selection} svg @param {Point} point @param {Scale} x @param {Scale} y */
function whiskers(svg, point, x, y) {
  const { low, high } = point.across;
  const [left, up] = [x(point.across.value), y(point.value)];
  const drawn = [];
  if (low !== undefined && high !== undefined) drawn.push(`M ${x(low)} ${up} L ${x(high)} ${up}`);
  if (point.low !== undefined && point.high !== undefined) drawn.push(`M ${left} ${y(point.low)} L ${left} ${y(point.high)}`);
  for (const d of drawn) svg.append("path").attr("d", d).attr("stroke", colour(0)).attr("stroke-width", 1.6).attr("opacity", 0.55);
}

/**
 * Move dots that would cover each other side by side.
 *
 * @param {[number, number][]} places
 * @returns {[number, number][]}
 */
function spread(places) {
  /** @type {number[][]} */
  const heaps = [];
  places.forEach(([x, y], nth) => {
    const near = heaps.find((heap) => heap.some((other) => Math.hypot(places[other][0] - x, places[other][1] - y) < MIN_DISTANCE));
    if (near) near.push(nth);
    else heaps.push([nth]);
  });
  const moved = places.map((each) => /** @type {[number, number]} */ ([...each]));
  for (const heap of heaps) {
    const middle = heap.reduce((sum, nth) => sum + places[nth][0], 0) / heap.length;
    if (heap.length > 1) heap.sort((one, other) => places[one][0] - places[other][0]);
    heap.forEach((nth, place) => heap.length > 1 && (moved[nth][0] = middle + MIN_DISTANCE * (place - (heap.length - 1) / 2)));
  }
  return moved;
}

/** @typedef {{says: string, left: number, top: number, width: number, height: number}} Sign */

// Positions of a sign around its dot, nearest first.
const AROUND = [0, 10, 20, 34, 50].flatMap((far) => [[9, -20], [-17, -20], [9, 5], [-17, 5], [11, -8], [-19, -8], [-4, -24], [-4, 9]].map(([x, y]) => [x + Math.sign(x) * far, y + Math.sign(y) * far]));

/**
 * Signs of the points in the key: numbers for systems of the study, letters for published ones.
 *
 * @param {Point[]} points
 */
function names(points) {
  const [studied, published] = [points.filter((each) => !each.published), points.filter((each) => each.published)];
  return points.map((each) => (each.published ? letter(published.indexOf(each)) : String(studied.indexOf(each) + 1)));
}

/** @param {number} nth */
const letter = (nth) => String.fromCharCode(97 + (nth % 26)).repeat(1 + Math.floor(nth / 26));

/**
 * Place the sign of each point where it covers no point and no other sign.
 *
 * @param {[number, number][]} places
 * @param {Point[]} points
 * @param {(point: Point) => Sign[]} boxesOf the boxes of its whiskers
 */
function placeSigns(places, points, boxesOf) {
  /** @type {Sign[]} */
  const occupied = places.map(([x, y]) => ({ says: "", left: x - 9, top: y - 9, width: 18, height: 18 }));
  occupied.push(...points.flatMap(boxesOf));
  return names(points).map((says, nth) => {
    const options = AROUND.map(([x, y]) => ({ says, left: places[nth][0] + x, top: places[nth][1] + y, width: 8 * says.length, height: 15 }));
    const free = options.find((sign) => !occupied.some((other) => overlap(sign, other))) ?? options[0];
    occupied.push(free);
    return free;
  });
}

/** @param {Point} point @param {Scale} x @param {Scale} y @returns {Sign[]} */
function whiskerBoxes(point, x, y) {
  const { value, low, high } = point.across;
  const [left, up] = [x(value), y(point.value)];
  const boxes = [];
  if (low !== undefined && high !== undefined) boxes.push({ says: "", left: x(low), top: up - 2, width: x(high) - x(low), height: 4 });
  if (point.low !== undefined && point.high !== undefined) boxes.push({ says: "", left: left - 2, top: y(point.high), width: 4, height: y(point.low) - y(point.high) });
  return boxes;
}

/** @param {Sign} one @param {Sign} other */
function overlap(one, other) {
  const across = one.left < other.left + other.width && other.left < one.left + one.width;
  return across && one.top < other.top + other.height && other.top < one.top + one.height;
}

/**
 * Write the key of numbers and letters; return its bottom.
 *
 * @param {Selection} svg
 * @param {Point[]} studied
 * @param {Plot} plot
 * @param {number} left
 * @param {number} top
 * @param {number} width
 */
function key(svg, studied, plot, left, top, width) {
  let y = top + TEXT;
  studied.forEach((point, nth) => {
    write(svg, left, y, `${nth + 1}`, { weight: "700" });
    write(svg, left + 26, y, point.system, { width: width - 26 });
    y += LINE;
  });
  const published = plot.points.filter((each) => each.published);
  if (published.length) {
    y += 4;
    write(svg, left, y, plot.published).attr("font-style", "italic");
    y += LINE;
    const entries = names(published).map((says, nth) => `${says} ${published[nth].system}`);
    y += wrap(svg, left, y, entries.join(", "), width, SOFT) * LINE;
  }
  for (const each of plot.rules ?? []) {
    rule(svg, left, left + 20, y - 4, y - 4).attr("stroke-dasharray", "4 4").attr("opacity", 0.9);
    y += wrap(svg, left + 26, y, `${each.name}: ${inNumbers(each.y)}`, width - 26, SOFT) * LINE;
  }
  return y;
}
