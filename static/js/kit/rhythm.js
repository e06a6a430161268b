/**
 * Measures how a message is typed: characters pasted, and typing time. Keys are not recorded; only these two numbers
 * leave the page.
 *
 * @typedef {{pasted: number, ms: number}} Typed
 */

/** A longer pause counts as thinking or reading, not as typing. */
const PAUSE_MS = 2000;

export class Rhythm {
  /** @param {HTMLTextAreaElement} box */
  constructor(box) {
    this.pasted = 0;
    this.ms = 0;
    /** @type {number | null} */
    this.last = null;
    /** False for a draft that was begun before the page was opened, as it was not measured. */
    this.isKnown = !box.value;
    box.addEventListener("paste", (event) => this.addPasted(event.clipboardData));
    box.addEventListener("drop", (event) => this.addPasted(event.dataTransfer));
    box.addEventListener("input", () => this.onInput());
  }

  /** @param {DataTransfer | null} data */
  addPasted(data) {
    this.pasted += [...(data?.getData("text") ?? "")].length;
  }

  onInput() {
    const now = performance.now();
    if (this.last !== null && now - this.last < PAUSE_MS) this.ms += now - this.last;
    this.last = now;
  }

  /** Typing of the message that is sent now; null if not measured. Starts over for the next message. @returns {Typed | null} */
  take() {
    const typed = this.isKnown ? { pasted: this.pasted, ms: Math.round(this.ms) } : null;
    this.pasted = 0;
    this.ms = 0;
    this.last = null;
    this.isKnown = true;
    return typed;
  }
}
