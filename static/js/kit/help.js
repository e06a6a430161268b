/** Fills the help in the bar with the wordings and explanations of the questions. */

import { byId, make } from "./dom.js";

/** @param {import("./answers.js").Question[]} questions */
export function explain(questions) {
  for (const { wording, help } of questions) {
    byId("explained").append(make("dt", {}, wording), make("dd", {}, help));
  }
  const menu = byId("menu");
  /** Close the menu before other listeners handle the key. @param {KeyboardEvent} event */
  const close = (event) => {
    if (event.key !== "Escape" || !menu.hasAttribute("open")) return;
    menu.removeAttribute("open");
    menu.querySelector("summary")?.focus();
    event.stopPropagation();
  };
  document.addEventListener("keydown", close, { capture: true });
  document.addEventListener("click", (event) => {
    if (event.target instanceof Node && !menu.contains(event.target)) menu.removeAttribute("open");
  });
}
