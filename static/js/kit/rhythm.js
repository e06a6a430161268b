/**
 * How a message comes to be written: characters pasted, and time of typing. Never which keys; nothing leaves the page
 * but these two numbers.
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
    /** Not of a draft that was begun before the page was opened: nobody saw how. */
    this.isKnown = !box.value;
    box.addEventListener("paste", (event) => this.came(event.clipboardData));
    box.addEventListener("drop", (event) => this.came(event.dataTransfer));
    box.addEventListener("input", () => this.changed());
  }

  /** @param {DataTransfer | null} data */
  came(data) {
    this.pasted += [...(data?.getData("text") ?? "")].length;
  }

  changed() {
    const now = performance.now();
    if (this.last !== null && now - this.last < PAUSE_MS) this.ms += now - this.last;
    this.last = now;
  }

  /** Of the message that is sent now; null if it is not known. The next one begins. @returns {Typed | null} */
  take() {
    const typed = this.isKnown ? { pasted: this.pasted, ms: Math.round(this.ms) } : null;
    this.pasted = 0;
    this.ms = 0;
    this.last = null;
    this.isKnown = true;
    return typed;
  }
}
