/** Folds the dock to one line while a long text is read: the share left to read, and a button to its end. */

import { make, setText } from "./dom.js";
import { gettext } from "./gettext.js";
import { isDocked } from "./sight.js";

/** Share of the window that must be left to read before the dock folds, and below which it unfolds. */
const FOLDS_AT = 0.6;
const UNFOLDS_AT = 0.25;

const inPercent = new Intl.NumberFormat(document.documentElement.lang || "en", { style: "percent" });

export class ReadingAlong {
  /**
   * @param {HTMLElement} dock
   * @param {import("./sight.js").EndInSight} sight
   */
  constructor(dock, sight) {
    this.dock = dock;
    this.sight = sight;
    /** @type {string | null} */
    this.subject = null;
    this.left = make("p", { class: "left" });
    const jump = make("button", { type: "button", class: "button--plain jump" }, gettext("Jump to the end"));
    jump.addEventListener("click", () => this.subject !== null && this.sight.toEnd(this.subject));
    this.line = make("div", { class: "dock__reading" }, this.left, jump);
    this.line.hidden = true;
    dock.dataset.folded = "false";
    dock.querySelector(".dock__foot")?.prepend(this.line);
    for (const name of ["scroll", "resize"]) addEventListener(name, () => this.update(), { passive: true });
  }

  /** @param {string | null} subject  being read; null if none is */
  show(subject) {
    this.subject = subject;
    this.update();
  }

  /** @param {boolean} isFolded */
  fold(isFolded) {
    const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
    const isAtEnd = scrollHeight - clientHeight - scrollTop < 2;
    this.dock.dataset.folded = String(isFolded);
    this.line.hidden = !isFolded;
    // The dock has grown over the end of the text, and the page by as much.
    if (isAtEnd && !isFolded) scrollTo({ top: document.documentElement.scrollHeight });
  }

  update() {
    const rest = this.subject === null || !isDocked() ? null : this.sight.rest(this.subject);
    const isFolded = this.dock.dataset.folded === "true";
    const isLong = rest !== null && rest.left > innerHeight * (isFolded ? UNFOLDS_AT : FOLDS_AT);
    if (isLong !== isFolded) this.fold(isLong);
    if (isLong) setText(this.left, gettext("%(share)s left to read", { share: inPercent.format(rest.left / rest.all) }));
  }
}
