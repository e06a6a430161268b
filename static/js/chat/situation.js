/** The worker's situation: beside the conversation where there is room; elsewhere it folds once the work has begun. */

const BESIDE = "(min-width: 64rem)";

export class Situation {
  constructor() {
    /** @type {HTMLDetailsElement | null} */
    this.element = document.querySelector("details#situation");
    this.mayFold = true;
    const wide = matchMedia(BESIDE);
    wide.addEventListener("change", () => this.element && wide.matches && (this.element.open = true));
  }

  /** Fold once, so that a worker who unfolds it later can read on. @param {boolean} hasBegun */
  fold(hasBegun) {
    if (!this.element || !hasBegun || !this.mayFold || matchMedia(BESIDE).matches) return;
    this.mayFold = false;
    this.element.open = false;
  }
}
