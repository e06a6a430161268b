/** The other person: typing, presence, and a button to end the conversation without them. */

import { byId, setText } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";

/**
 * @typedef {import("./store.js").PartnerState} PartnerState
 * @typedef {import("./store.js").Progress} Progress
 */

const REPORT_EVERY_MS = 2000; // least time between two reports of typing
const SHOW_MS = 4500; // time for which a report of typing is shown

export class Partner {
  /**
   * @param {{isDisclosed: boolean, onTyping: () => void, onChange: () => void, onEnd: () => void}} options
   *   isDisclosed: true if the page may show what only a person does
   */
  constructor(options) {
    this.options = options;
    this.reportedAt = -REPORT_EVERY_MS;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.card = byId("company");
    this.button = byId("company-end");
    this.button.addEventListener("click", options.onEnd);
  }

  /** Report that the worker types. */
  type() {
    if (!this.options.isDisclosed || performance.now() - this.reportedAt < REPORT_EVERY_MS) return;
    this.reportedAt = performance.now();
    this.options.onTyping();
  }

  /** Show that the partner types. */
  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.hasWritten(), SHOW_MS);
    this.options.onChange();
  }

  /** Stop showing it: the message has arrived, or typing has stopped. */
  hasWritten() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.options.onChange();
  }

  /** True if the page shows that the partner writes; a partner who may be a chatbot is treated like one. @param {Progress} progress */
  isWriting({ thinking }) {
    return this.options.isDisclosed ? this.timer !== undefined : thinking;
  }

  /** @param {PartnerState | null} state */
  show(state) {
    const { left = false, away = false, may_end: mayEnd = false } = state ?? {};
    const text = messageFor({ left, away, mayEnd });
    this.card.hidden = !text;
    setText(byId("company-text"), text);
    const hadFocus = document.activeElement === this.button;
    this.button.hidden = !mayEnd;
    if (hadFocus && !mayEnd) byId("message").focus();
  }
}

/** @param {{left: boolean, away: boolean, mayEnd: boolean}} state */
function messageFor({ left, away, mayEnd }) {
  if (left) return gettext("Your partner has left the conversation.");
  if (away) return gettext("Your partner has lost the connection. They may come back in a moment.");
  return mayEnd ? gettext("Your partner has not written for some minutes.") : "";
}
