/** Delays the last answer by key: the keys that follow may show that it was the beginning of a text. */

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

  /** Send it now, before something else happens. */
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
