/**
 * State of the conversation and of the actions on this page.
 *
 * @typedef {import("./store.js").Dialogue} Dialogue
 * @typedef {import("../kit/connection.js").ConnectionState} ConnectionState
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {import("../kit/outbox.js").Outbox} Outbox
 */

import { receive, UNKNOWN, versionAt } from "./store.js";

const ANSWERS_TO_A_REQUEST = new Set(["state", "bot_turn", "bot_failed", "refused"]);

export class Work {
  /** @param {Outbox} outbox */
  constructor(outbox) {
    this.outbox = outbox;
    /** @type {Dialogue} */
    this.dialogue = UNKNOWN;
    /** @type {ConnectionState} */
    this.line = "connecting";
    this.isFinishing = false;
    this.isRetrying = false;
    /** True if the worker writes although a question is open. */
    this.isWriting = false;
    /** True while the worker answers the questions about the whole conversation. */
    this.isRating = false;
    /** True if direction marks were removed from the latest message. */
    this.hasLostMarks = false;
  }

  /** @param {Frame} frame */
  onFrame(frame) {
    this.outbox.settle(frame);
    const before = this.dialogue;
    this.dialogue = receive(before, frame);
    const { versions } = this.dialogue;
    // An answer that is not stored was about another text.
    if (frame.type === "regenerating") this.outbox.dropAnswersTo(frame.position);
    else if (versions && versionAt(before, versions.position) !== versions.number) this.outbox.dropAnswersTo(versions.position);
    if (ANSWERS_TO_A_REQUEST.has(frame.type)) this.isFinishing = this.isRetrying = false;
  }

  get isOpen() {
    return this.line === "open";
  }

  get maySend() {
    return Boolean(this.dialogue.progress?.may_send) && this.outbox.held.turn === null;
  }

  /** True if the server has stored a message or an answer of the worker. */
  get hasSaved() {
    const { labels, turns } = this.dialogue;
    return Object.keys(labels).length > 0 || turns.some(({ speaker }) => speaker === "human");
  }

  /** The reply whose other versions may be asked for or kept, if it is the last turn. */
  get exchangeable() {
    const { turns, progress } = this.dialogue;
    const last = turns.at(-1);
    return progress && !progress.thinking && last?.speaker === "bot" && last.counted ? last : null;
  }

  /** The number of the last reply, for its label; {} of earlier turns, which nobody can exchange. @param {number | null} position */
  versionOf(position) {
    return position !== null && this.exchangeable?.position === position ? { version: versionAt(this.dialogue, position) } : {};
  }

  get isFirstFault() {
    const { fault, progress } = this.dialogue;
    return fault?.attempts === 1 && !fault.may_give_up && !progress?.thinking && !this.isRetrying;
  }

  /** True while a failed reply is requested again. */
  get isTryingAgain() {
    return this.isRetrying || Boolean(this.dialogue.fault && this.dialogue.progress?.thinking);
  }
}
