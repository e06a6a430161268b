/**
 * Shared parts of the interactive charts: texts that fit, axes, legends, and marks.
 *
 * A mark shows its numbers when it is pointed at or focused, and links to its details. A chart is one stop of
 * the Tab key; arrow keys move from mark to mark.
 */

import { axisBottom, select, symbol, symbolCircle, symbolSquare, symbolTriangle } from "../../vendor/d3.js";

/**
 * @typedef {import("../../vendor/d3.js").Selection} Selection
 * @typedef {import("../../vendor/d3.js").Scale} Scale
 * @typedef {{value: number, low?: number, high?: number, words: string[], href: string}} Mark
 */

export const SYMBOLS = [symbolCircle, symbolSquare, symbolTriangle];
export const TEXT = 13;
export const LINE = 18;
const REACH = 12; // pixels around a mark that count as pointing at it
const PADDING = 10;

/** @param {number} nth */
export const colour = (nth) => `var(--chart-${(nth % 3) + 1})`;

/**
 * @param {Selection} into
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {{anchor?: string, weight?: string, width?: number, size?: number, ink?: string}} [how]
 */
export function write(into, x, y, words, { anchor = "start", weight = "400", width, size = TEXT, ink = "var(--ink)" } = {}) {
  const text = into.append("text").attr("x", x).attr("y", y).attr("font-size", size).attr("font-weight", weight);
  text.attr("text-anchor", anchor).attr("fill", ink).text(words);
  if (width !== undefined) shorten(text, words, width);
  return text;
}

/** @param {Selection} text */
export function widthOf(text) {
  return /** @type {SVGTextElement} */ (text.node()).getComputedTextLength();
}

/** @param {Selection} text @param {string} words @param {number} width */
function shorten(text, words, width) {
  const letters = [...words];
  while (widthOf(text) > width && letters.length > 1) {
    letters.pop();
    text.text(`${letters.join("").trimEnd()}…`);
  }
}

/**
 * Write a text in several lines; return their number.
 *
 * @param {Selection} into
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {number} width
 * @param {Parameters<typeof write>[4]} [how]
 */
export function wrap(into, x, y, words, width, how) {
  let lines = 0;
  let line = "";
  let text = write(into, x, y, "", how);
  for (const word of words.split(/\s+/)) {
    const longer = line ? `${line} ${word}` : word;
    text.text(longer);
    if (line && widthOf(text) > width) {
      text.text(line);
      lines += 1;
      text = write(into, x, y + lines * LINE, word, how);
      line = word;
    } else line = longer;
  }
  return lines + 1;
}

/**
 * Draw the legend in as many rows as it needs; return its height.
 *
 * @param {Selection} into
 * @param {string[]} titles
 * @param {number} top
 * @param {number} width
 */
export function legend(into, titles, top, width) {
  let x = 0;
  let y = top + TEXT;
  titles.forEach((title, nth) => {
    const text = write(into, x + 16, y, title, { width: width - 16 });
    const needs = 16 + widthOf(text);
    if (x && x + needs > width) {
      [x, y] = [0, y + LINE];
      text.attr("x", 16).attr("y", y);
    }
    into.append("path").attr("d", symbol(SYMBOLS[nth % 3], 52)()).attr("fill", colour(nth)).attr("transform", `translate(${x + 6} ${y - 4.5})`);
    x += needs + 18;
  });
  return y - top + 8;
}

/**
 * @param {Selection} into
 * @param {Scale} scale
 * @param {number} y
 * @param {number[]} ticks
 */
export function below(into, scale, y, ticks) {
  const axis = into.append("g").attr("transform", `translate(0 ${y})`);
  axis.call(axisBottom(scale).tickValues(ticks).tickFormat(inNumbers).tickSize(4).tickPadding(4));
  return plain(axis);
}

/** Format a number with a typographic minus sign, as in all reports. @param {number} tick */
export function inNumbers(tick) {
  return String(tick).replace("-", "\u2212");
}

/** Give an axis the colours and font of the page. @param {Selection} axis */
export function plain(axis) {
  axis.attr("font-family", null).attr("font-size", TEXT - 1);
  axis.selectAll("text").attr("fill", "var(--ink-soft)");
  axis.selectAll("path, line").attr("stroke", "var(--chart-grid)");
  return axis;
}

/**
 * Append the element of a mark with these words and its link.
 *
 * @param {Selection} into
 * @param {{words: string[], href: string}} mark
 * @param {number | string} group marks among which left and right go; up and down go to another group
 */
export function appendMark(into, mark, group) {
  const place = into.append(mark.href ? "a" : "g").attr("class", "mark").attr("tabindex", -1);
  if (mark.href) place.attr("href", mark.href);
  else place.attr("role", "img");
  place.attr("aria-label", mark.words.join(". ")).attr("data-group", group).attr("data-words", JSON.stringify(mark.words));
  return place;
}

/**
 * Append a dot as a mark.
 *
 * @param {Selection} into
 * @param {Mark} mark
 * @param {{x: number, y: number, nth: number, group: number | string, size?: number, hollow?: boolean}} how
 */
export function dot(into, mark, { x, y, nth, group, size = 64, hollow = false }) {
  const place = appendMark(into, mark, group).attr("transform", `translate(${x} ${y})`);
  place.append("circle").attr("r", REACH).attr("fill", "transparent");
  const shape = place.append("path").attr("class", "mark__shape").attr("d", symbol(SYMBOLS[nth % 3], size)());
  shape.attr("fill", hollow ? "var(--surface)" : colour(nth)).attr("stroke", colour(nth)).attr("stroke-width", 1.5);
  return place;
}

/**
 * Show the numbers of marks that are pointed at, focused or tapped.
 *
 * @param {SVGSVGElement} svg
 * @param {string} hint text for touch users that a second tap opens the link
 */
export function listen(svg, hint) {
  const marks = /** @type {SVGElement[]} */ ([...svg.querySelectorAll(".mark")]);
  marks[0]?.setAttribute("tabindex", "0");
  const tip = select(svg).append("g").attr("class", "tip").attr("aria-hidden", "true");
  /** @type {Element | null} */
  let active = null;
  const hide = () => ((active = null), tip.selectAll("*").remove());
  /** @param {SVGElement} mark @param {boolean} [touched] */
  const showTip = (mark, touched = false) => {
    hide();
    active = mark;
    const words = JSON.parse(mark.dataset.words ?? "[]");
    drawTip(svg, tip, mark, touched && mark.hasAttribute("href") ? [...words, hint] : words);
  };
  /** @param {Event} event */
  const at = (event) => /** @type {SVGElement | null} */ (/** @type {Element} */ (event.target).closest(".mark"));

  svg.addEventListener("pointerover", (event) => {
    const mark = at(event);
    if (event.pointerType === "touch") return;
    if (mark) showTip(mark);
    else hide();
  });
  svg.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hide());
  // Not on the drawing: in Chromium a focus listener makes it a stop of the Tab key.
  const frame = /** @type {HTMLElement} */ (svg.parentElement);
  frame.addEventListener("focusin", (event) => {
    const mark = at(event);
    if (!mark) return;
    for (const each of marks) each.setAttribute("tabindex", each === mark ? "0" : "-1");
    if (mark.matches(":focus-visible")) showTip(mark);
  });
  frame.addEventListener("focusout", hide);
  // On touch screens the first tap shows the numbers, the second one opens the link.
  svg.addEventListener("click", (event) => {
    const mark = at(event);
    if (/** @type {PointerEvent} */ (event).pointerType !== "touch") return;
    if (!mark) return hide();
    if (active === mark) return;
    event.preventDefault();
    showTip(mark, true);
  });
  svg.addEventListener("keydown", (event) => {
    const mark = at(event);
    if (event.key === "Escape") return hide();
    const next = mark && neighbourOf(marks, mark, event.key);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}

/** @param {SVGElement[]} marks @param {SVGElement} mark @param {string} key */
function neighbourOf(marks, mark, key) {
  const place = marks.indexOf(mark);
  if (key === "Home") return marks[0];
  if (key === "End") return marks[marks.length - 1];
  if (key === "ArrowRight") return marks[place + 1];
  if (key === "ArrowLeft") return marks[place - 1];
  if (key !== "ArrowDown" && key !== "ArrowUp") return undefined;
  const groups = [...new Set(marks.map((each) => each.dataset.group))];
  const other = groups[groups.indexOf(mark.dataset.group) + (key === "ArrowDown" ? 1 : -1)];
  const index = marks.filter((each) => each.dataset.group === mark.dataset.group).indexOf(mark);
  const group = marks.filter((each) => other !== undefined && each.dataset.group === other);
  return group[Math.min(index, group.length - 1)];
}

/**
 * Draw a box with words above or below a mark.
 *
 * @param {SVGSVGElement} svg
 * @param {Selection} tip
 * @param {SVGElement} mark
 * @param {string[]} words
 */
function drawTip(svg, tip, mark, words) {
  const frame = svg.getBoundingClientRect();
  const { left, right, top, bottom } = mark.getBoundingClientRect();
  const box = tip.append("rect").attr("rx", 8).attr("fill", "var(--ink)");
  const room = frame.width - 2 * PADDING;
  let lines = 0;
  words.forEach((each, nth) => {
    lines += wrap(tip, PADDING, PADDING + TEXT - 1 + lines * LINE, each, room - 2 * PADDING, { weight: nth ? "400" : "700" });
  });
  tip.selectAll("text").attr("fill", "var(--surface)");
  const widths = [.../** @type {SVGElement} */ (tip.node()).querySelectorAll("text")].map((text) => text.getComputedTextLength());
  const [width, height] = [Math.max(...widths) + 2 * PADDING, lines * LINE + 2 * PADDING - 4];
  box.attr("width", width).attr("height", height);
  const x = Math.min(Math.max((left + right) / 2 - frame.left - width / 2, 0), frame.width - width);
  const above = top - frame.top - height - 4;
  const y = above >= 0 ? above : bottom - frame.top + 4;
  tip.attr("transform", `translate(${x} ${y})`);
}
