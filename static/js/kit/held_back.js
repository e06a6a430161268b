/** The last answer by key, held back for a moment in which it may turn out to be the beginning of a text. */

import { BURST_MS } from "./keys.js";

export class HeldBack {
  /** @type {{send: () => void, undo: () => void, timer: ReturnType<typeof setTimeout>} | null} */
  last = null;

  /**
   * @param {() => void} send
   * @param {() => void} undo
   */
  hold(send, undo) {
    this.flush();
    this.last = { send, undo, timer: setTimeout(() => this.flush(), BURST_MS) };
  }

  /** Send it now: something else is about to follow. */
  flush() {
    const { last } = this;
    if (!last) return;
    clearTimeout(last.timer);
    this.last = null;
    last.send();
  }

  takeBack() {
    const { last } = this;
    if (!last) return;
    clearTimeout(last.timer);
    this.last = null;
    last.undo();
  }
}
