/**
 * Replaces the pictures of charts in a report by interactive drawings of the numbers included beside each.
 *
 * Without this script the page shows the pictures, which also remain as downloads.
 */

import { select } from "../../vendor/d3.js";
import { make } from "../kit/dom.js";
import { forest } from "./forest.js";
import { lines } from "./lines.js";
import { scatter } from "./scatter.js";
import { shares } from "./shares.js";
import { listen } from "./stage.js";

/** @type {Record<string, (svg: import("./stage.js").Selection, plot: any, width: number, hidden: Set<string>) => number>} */
const KINDS = { forest, lines, scatter, shares };

/** Hidden systems by chart; kept when the report is refreshed. @type {Map<string, Set<string>>} */
const HIDDEN = new Map();

/** @param {HTMLElement} figure */
function upgrade(figure) {
  const numbers = figure.querySelector('script[type="application/json"]');
  const pictures = /** @type {HTMLElement[]} */ ([...figure.querySelectorAll(".chart__wide, .chart__narrow, .chart__picture")]);
  if (!numbers || figure.querySelector(".plot")) return;
  const plot = JSON.parse(numbers.textContent ?? "");
  const name = figure.dataset.chart ?? "";
  const hidden = HIDDEN.get(name) ?? new Set();
  HIDDEN.set(name, hidden);
  const label = pictures[0]?.querySelector("svg")?.getAttribute("aria-label") ?? pictures[0]?.querySelector("img")?.alt ?? "";
  const stage = make("div", { class: "plot__stage" });
  let width = 0;
  const draw = () => {
    width = stage.clientWidth;
    if (width) redraw(stage, plot, width, hidden, label.split(". ")[0] + ".");
  };
  const box = make("div", { class: "plot" });
  if (plot.systems.length > 1) box.append(switches(plot.systems, plot.show, hidden, draw));
  if (plot.parts?.length > 1) box.append(switches(plot.parts, plot.show_parts, hidden, draw));
  box.append(stage, make("p", { class: "small soft plot__hint" }, plot.hint));
  numbers.after(box);
  for (const picture of pictures) picture.hidden = true;
  draw();
  new ResizeObserver(() => stage.clientWidth !== width && draw()).observe(stage);
}

/**
 * @param {HTMLElement} stage
 * @param {any} plot
 * @param {number} width
 * @param {Set<string>} hidden
 * @param {string} title
 */
function redraw(stage, plot, width, hidden, title) {
  const frame = make("div");
  stage.replaceChildren(frame);
  const svg = select(frame).append("svg").attr("role", "group").attr("aria-label", title).attr("width", width);
  const height = Math.ceil(KINDS[plot.kind](svg, plot, width, hidden));
  svg.attr("height", height).attr("viewBox", `0 0 ${width} ${height}`);
  listen(/** @type {SVGSVGElement} */ (svg.node()), plot.tap);
}

/**
 * Buttons that hide and show systems, or parts of the chart; one always stays visible.
 *
 * @param {string[]} names
 * @param {string} label
 * @param {Set<string>} hidden
 * @param {() => void} draw
 */
function switches(names, label, hidden, draw) {
  const group = make("div", { class: "plot__switches", role: "group", "aria-label": label });
  const buttons = names.map((name) => {
    const button = make("button", { type: "button", class: "switch" }, name);
    button.addEventListener("click", () => {
      if (hidden.has(name)) hidden.delete(name);
      else if (names.some((other) => other !== name && !hidden.has(other))) hidden.add(name);
      show();
      draw();
    });
    return button;
  });
  const show = () => buttons.forEach((button, nth) => button.setAttribute("aria-pressed", String(!hidden.has(names[nth]))));
  show();
  group.append(make("span", { class: "small soft", "aria-hidden": "true" }, label), ...buttons);
  return group;
}

function upgradeAll() {
  for (const figure of document.querySelectorAll("figure.chart")) upgrade(/** @type {HTMLElement} */ (figure));
}

upgradeAll();
document.addEventListener("fresh", upgradeAll);
