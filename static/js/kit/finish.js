/**
 * The Finish button: in the bar until it is allowed, then in the dock. Two buttons, one of them visible: moving one
 * button would move its neighbours.
 */

import { byId, make } from "./dom.js";
import { gettext } from "./gettext.js";

/** Content of the page until the next one has loaded. @param {string} url */
export function finished(url) {
  const link = make("a", { href: url }, gettext("Go to your completion code"));
  return make("p", { class: "note", role: "status" }, gettext("Finished; everything is saved."), " ", link);
}

export class Finish {
  /**
   * @param {{onFinish: () => void, onRefused: () => void}} actions  onRefused: called if it is pressed before it is allowed
   */
  constructor({ onFinish, onRefused }) {
    this.far = byId("finish");
    this.near = byId("finish-near");
    /** Why not yet; "" if it is allowed, null before the first `show`. @type {string | null} */
    this.obstacle = null;
    /** True after it was pressed too early, until the next key or tap: frames from the server must not replace the reason. */
    this.isTooEarly = false;
    for (const button of [this.far, this.near]) {
      button.addEventListener("click", () => {
        this.isTooEarly = !this.isAllowed;
        if (this.isAllowed) onFinish();
        else onRefused();
      });
    }
    for (const act of ["keydown", "pointerdown"]) document.addEventListener(act, () => (this.isTooEarly = false), true);
  }

  get isAllowed() {
    return this.obstacle === "";
  }

  /** What the page shows as its hint: the reason of a refusal first. @param {string} hint */
  hintOr(hint) {
    return (this.isTooEarly && this.obstacle) || hint;
  }

  /** The visible button. */
  get button() {
    return this.near.hidden ? this.far : this.near;
  }

  /**
   * @param {string} obstacle  why not yet; "" if it is allowed
   * @param {boolean} isNear  true for the one in the dock
   */
  show(obstacle, isNear) {
    this.obstacle = obstacle;
    for (const button of [this.far, this.near]) button.setAttribute("aria-disabled", String(!this.isAllowed));
    const hadFocus = document.activeElement === this.button;
    this.near.hidden = !isNear;
    this.far.classList.toggle("is-away", isNear);
    if (hadFocus) this.button.focus({ preventScroll: true });
  }
}
