/** The message box: grows with its text, counts characters, and sends on Enter. */

import { setText } from "./dom.js";

/** Characters as the server counts them: an emoji is not two. @param {string} text */
export function lengthOf(text) {
  return [...text].length;
}

/** On a touch screen, focus in the message box would push the keyboard up. */
export function hasKeyboard() {
  return !matchMedia("(pointer: coarse)").matches;
}

export class Composer {
  /**
   * @param {{form: HTMLFormElement, box: HTMLTextAreaElement, send: HTMLButtonElement, count: HTMLElement}} parts
   * @param {{maxChars: number, onDraft: (text: string) => void, onSend: (text: string) => void}} options
   */
  constructor(parts, options) {
    this.parts = parts;
    this.options = options;
    this.mayAct = false;
    parts.box.addEventListener("input", () => this.onInput());
    parts.box.addEventListener("keydown", (event) => this.onKeyDown(event));
    parts.form.addEventListener("submit", (event) => {
      event.preventDefault();
      options.onSend(this.text);
    });
  }

  get text() {
    return this.parts.box.value;
  }

  set text(text) {
    this.parts.box.value = text;
    this.fit();
  }

  get isTooLong() {
    return lengthOf(this.text.trim()) > this.options.maxChars;
  }

  onInput() {
    this.fit();
    this.options.onDraft(this.text);
  }

  /** @param {KeyboardEvent} event */
  onKeyDown(event) {
    // While an input method composes a character, Enter chooses it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.options.onSend(this.text);
  }

  fit() {
    const { box, count } = this.parts;
    box.style.blockSize = "auto";
    box.style.blockSize = `${box.scrollHeight + box.offsetHeight - box.clientHeight}px`;
    const length = lengthOf(this.text.trim());
    setText(count, length > 0.9 * this.options.maxChars ? `${length} / ${this.options.maxChars}` : "");
    count.classList.toggle("is-over", this.isTooLong);
  }

  /** Lock or unlock the button; a locked one stays focusable, so that its reason can be read. @param {boolean} maySend */
  unlock(maySend) {
    this.parts.send.setAttribute("aria-disabled", String(!maySend));
  }

  /** Insert text that was typed outside the box; further typing continues after it. @param {string} text */
  take(text) {
    const { box } = this.parts;
    box.setRangeText(text, box.selectionStart, box.selectionEnd, "end");
    box.focus();
    this.onInput();
  }

  get hasFocus() {
    return document.activeElement === this.parts.box;
  }

  focus() {
    this.parts.box.focus();
  }
}
