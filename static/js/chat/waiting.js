/** Time that a late reply has taken, and a button to end the conversation when it takes much too long. */

import { byId, setText } from "../kit/dom.js";
import { gettext, ngettext } from "../kit/gettext.js";

const SECOND_MS = 1000;
/** Seconds after which the page shows the time and calls the delay unusual. */
const UNUSUAL_SECONDS = 10;
/** Seconds after which the worker may end the conversation: slightly more than the server requires (dialogues/services.py). */
const TOO_LONG_SECONDS = 62;

export class Waiting {
  /** @param {{mayEnd: boolean, onEnd: () => void}} options  mayEnd: true if a chatbot writes the reply */
  constructor({ mayEnd, onEnd }) {
    this.mayEnd = mayEnd;
    // Looked up once: they are removed at the end of the work.
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
    // Hidden from screen readers, which announce the delay once.
    setText(this.time, isUnusual ? ngettext("%(n)s second", "%(n)s seconds", seconds) : "");
    setText(
      this.text,
      isUnusual ? gettext("This takes longer than usual. Your message is saved: you can wait, or come back to this page later.") : "",
    );
    this.end.hidden = !this.mayEnd || seconds < TOO_LONG_SECONDS;
    this.card.hidden = !isUnusual;
  }
}
