/** Several replies to the same message: asking for another one, and going back and forth between them. */

import { make, setText } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";
import { newKey } from "../kit/key.js";

/**
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {import("./store.js").Versions} Shown  the reply that is kept, of how many
 */

export class Versions {
  /**
   * @param {number} most  replies to a message, the first included; 1: there is no choice
   * @param {(frame: Frame) => boolean} send  returns whether it was sent
   */
  constructor(most, send) {
    this.most = most;
    this.send = send;
    this.earlier = this.step("‹", gettext("Earlier reply"), -1);
    this.later = this.step("›", gettext("Later reply"), 1);
    this.count = make("span", { class: "versions__count" });
    this.steps = make("span", { class: "versions__steps" }, this.earlier, this.count, this.later);
    this.another = make("button", { type: "button", class: "versions__another" }, gettext("Another reply"));
    this.another.addEventListener("click", () => this.regenerate());
    this.element = make(
      "div",
      { class: "versions", role: "group", "aria-label": gettext("Replies to this message"), "aria-live": "off" },
      this.steps,
      this.another,
    );
    /** @type {Shown | null} */
    this.shown = null;
    /** The reply beside which another one was asked for, so that a double click asks once. */
    this.requested = "";
  }

  /** @param {string} sign @param {string} name @param {1 | -1} by */
  step(sign, name, by) {
    const button = make("button", { type: "button", class: "versions__step", "aria-label": name }, sign);
    button.addEventListener("click", () => this.go(by));
    return button;
  }

  /** @param {1 | -1} by */
  go(by) {
    if (!this.shown) return;
    const { position, number, of } = this.shown;
    const chosen = number + by;
    if (chosen >= 1 && chosen <= of) this.send({ type: "keep_version", position, number: chosen });
  }

  regenerate() {
    if (!this.shown || this.requested === this.named) return;
    if (this.send({ type: "regenerate", position: this.shown.position, key: newKey() })) this.requested = this.named;
  }

  get named() {
    return this.shown ? `${this.shown.position}:${this.shown.of}` : "";
  }

  /** A request was refused or lost: it may be made once more. @param {Frame} frame */
  onFrame({ type }) {
    if (type === "refused" || type === "state") this.requested = "";
  }

  /** @param {HTMLElement | null} place  the reply; null where there is nothing to choose @param {Shown | null} shown */
  show(place, shown) {
    this.shown = place && shown;
    if (!place || !shown || this.most === 1) return this.element.remove();
    const { number, of } = shown;
    this.steps.hidden = of === 1;
    setText(this.count, gettext("%(n)s of %(all)s", { n: number, all: of }));
    this.earlier.ariaDisabled = String(number === 1);
    this.later.ariaDisabled = String(number === of);
    this.another.hidden = of >= this.most;
    if (this.element.parentElement !== place) place.append(this.element);
  }
}
