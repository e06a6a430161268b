/** How long a reply takes, once that is longer than usual, and the way out when it takes much too long. */

import { byId, setText } from "../kit/dom.js";
import { gettext, ngettext } from "../kit/gettext.js";

const SECOND_MS = 1000;
/** From here on the page counts, and says that this is unusual. */
const UNUSUAL_SECONDS = 10;
/** From here on the worker may end the conversation: a little more than the server asks for (dialogues/services.py). */
const TOO_LONG_SECONDS = 62;

export class Waiting {
  /** @param {{mayEnd: boolean, onEnd: () => void}} options  mayEnd: no person writes the reply */
  constructor({ mayEnd, onEnd }) {
    this.mayEnd = mayEnd;
    // Looked up once: at the end of the work they leave the page.
    this.card = byId("waiting");
    this.time = byId("thinking-time");
    this.text = byId("waiting-text");
    this.end = byId("waiting-end");
    this.end.addEventListener("click", onEnd);
    /** @type {number | null} */
    this.since = null;
    setInterval(() => this.tick(), SECOND_MS);
  }

  /** @param {boolean} isWaiting */
  show(isWaiting) {
    this.since = isWaiting ? (this.since ?? performance.now()) : null;
    this.tick();
  }

  tick() {
    const seconds = this.since === null ? 0 : Math.floor((performance.now() - this.since) / SECOND_MS);
    const isUnusual = seconds >= UNUSUAL_SECONDS;
    // For the eyes only: screen readers hear once that it takes long.
    setText(this.time, isUnusual ? ngettext("%(n)s second", "%(n)s seconds", seconds) : "");
    setText(
      this.text,
      isUnusual ? gettext("This takes longer than usual. Your message is saved: you can wait, or come back to this page later.") : "",
    );
    this.end.hidden = !this.mayEnd || seconds < TOO_LONG_SECONDS;
    this.card.hidden = !isUnusual;
  }
}
