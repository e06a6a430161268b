/** A reply that is shown while the chatbot writes it. The finished turn replaces it. */

import { byId, make } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";
import { GrowingText } from "../kit/growing_text.js";

/**
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {{position: number, stream: string, offset: number, text: string}} Growth
 *   offset: code points of the known text that stay; stream: id of the process that sends it, if two processes answer
 */

/** Frames that end a growing reply. */
const ENDS = new Set(["bot_turn", "bot_failed", "state"]);

export class GrowingReply {
  /**
   * @param {{list: HTMLElement, botName: string, mayStop: boolean, isKnown: (position: number) => boolean,
   *          onBegun: () => void, onGrown: (reply: HTMLElement) => void, onStop: (position: number) => boolean}} options
   *   isKnown: true if the finished turn at this position is on the page; onStop: returns true if the request was sent
   */
  constructor(options) {
    this.options = options;
    this.text = new GrowingText();
    const who = make("span", { class: "visually-hidden" }, `${options.botName}: `);
    const text = make("p", { class: "turn__text", dir: "auto" });
    text.append(this.text.node);
    this.element = make("li", { class: "turn turn--bot is-growing", "aria-busy": "true", "aria-live": "off" }, who, text);
    this.button = make("button", { type: "button", class: "stop", hidden: "" }, gettext("Stop the reply"));
    this.button.addEventListener("click", () => this.stop());
    this.thinking = byId("thinking");
    byId("new-reply").after(this.button); // in the dock, as the end of a long reply may be out of view
    /** @type {Growth | null} */
    this.growth = null;
    /** The position of the last reply that grew here. */
    this.last = -1;
    this.isFollowing = false;
  }

  /** Handle a frame about a growing reply; true if no other part of the page needs it. @param {Frame} frame */
  onFrame(frame) {
    if (frame.type === "bot_text") {
      this.take(/** @type {any} */ (frame));
      return true;
    }
    if (!ENDS.has(frame.type)) return false;
    const hadFocus = document.activeElement === this.button;
    this.end();
    if (frame.type === "state" && frame.growing) this.take(frame.growing);
    if (hadFocus && !this.growth) byId("message").focus({ preventScroll: true });
    return false;
  }

  get isShown() {
    return this.growth !== null;
  }

  /** True if the reply at this position has grown on this page. @param {number} position */
  hasShown(position) {
    return this.last === position;
  }

  /** @param {Growth} growth */
  take(growth) {
    const { position, stream } = growth;
    if (this.options.isKnown(position)) return;
    if (this.growth && this.growth.position === position && this.growth.stream !== stream) return;
    if (this.growth?.position !== position) this.end();
    // If a part was missed, the page waits for the finished reply. A part that was sent before the state was read is shown already.
    if (!this.text.take(growth)) return;
    this.growth = growth;
    this.last = position;
    this.show();
  }

  show() {
    if (!this.element.isConnected) {
      this.options.list.append(this.element);
      this.thinking.classList.add("thinking--growing");
      this.button.hidden = !this.options.mayStop;
      this.options.onBegun();
    }
    this.followOnce();
  }

  /** Parts may come more often than the screen is drawn, and where the page stands is measured: once for each drawing. */
  followOnce() {
    if (this.isFollowing) return;
    this.isFollowing = true;
    requestAnimationFrame(() => {
      this.isFollowing = false;
      if (this.element.isConnected) this.options.onGrown(this.element);
    });
  }

  stop() {
    if (this.growth && this.button.ariaDisabled !== "true" && this.options.onStop(this.growth.position)) {
      this.button.ariaDisabled = "true";
    }
  }

  end() {
    this.element.remove();
    this.text.clear();
    this.growth = null;
    this.button.hidden = true;
    this.button.ariaDisabled = "false";
    this.thinking.classList.remove("thinking--growing");
  }
}
