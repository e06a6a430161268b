/** The person opposite: whether they are typing, whether they are there, and the way out if they are not. */

import { byId, setText } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";

/**
 * @typedef {import("./store.js").Company} Standing
 * @typedef {import("./store.js").Progress} Progress
 */

const TELL_MS = 2000; // at most this often the other one hears that somebody types
const SHOW_MS = 4500; // and so long it is shown

export class Company {
  /**
   * @param {{isDisclosed: boolean, onTyping: () => void, onChange: () => void, onEnd: () => void}} options
   *   isDisclosed: whether the page may show what only a person does
   */
  constructor(options) {
    this.options = options;
    this.toldAt = -TELL_MS;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.card = byId("company");
    this.button = byId("company-end");
    this.button.addEventListener("click", options.onEnd);
  }

  /** Somebody types here. */
  type() {
    if (!this.options.isDisclosed || performance.now() - this.toldAt < TELL_MS) return;
    this.toldAt = performance.now();
    this.options.onTyping();
  }

  /** The other one types. */
  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.hasWritten(), SHOW_MS);
    this.options.onChange();
  }

  /** The other one has sent it, or stopped. */
  hasWritten() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.options.onChange();
  }

  /** Whether the page says that they write; of somebody who may be a chatbot, as it would of one. @param {Progress} progress */
  isWriting({ thinking }) {
    return this.options.isDisclosed ? this.timer !== undefined : thinking;
  }

  /** @param {Standing | null} standing */
  show(standing) {
    const { left = false, away = false, may_end: mayEnd = false } = standing ?? {};
    const text = says({ left, away, mayEnd });
    this.card.hidden = !text;
    setText(byId("company-text"), text);
    const hadFocus = document.activeElement === this.button;
    this.button.hidden = !mayEnd;
    if (hadFocus && !mayEnd) byId("message").focus();
  }
}

/** @param {{left: boolean, away: boolean, mayEnd: boolean}} standing */
function says({ left, away, mayEnd }) {
  if (left) return gettext("Your partner has left the conversation.");
  if (away) return gettext("Your partner has lost the connection. They may come back in a moment.");
  return mayEnd ? gettext("Your partner has not written for some minutes.") : "";
}
