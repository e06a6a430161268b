/**
 * What is known of the conversation, and what is under way on this page.
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
    this.known = UNKNOWN;
    /** @type {ConnectionState} */
    this.line = "connecting";
    this.isFinishing = false;
    this.isRetrying = false;
    /** Whether the worker writes although a question waits. */
    this.isWriting = false;
    /** Whether the worker is at the questions about the whole conversation. */
    this.isRating = false;
    /** Whether marks of direction were taken out of the latest message. */
    this.hasLostMarks = false;
  }

  /** @param {Frame} frame */
  hear(frame) {
    this.outbox.settle(frame);
    const before = this.known;
    this.known = receive(before, frame);
    const { versions } = this.known;
    // An answer that is not stored was about another text.
    if (frame.type === "regenerating") this.outbox.dropAnswersTo(frame.position);
    else if (versions && versionAt(before, versions.position) !== versions.number) this.outbox.dropAnswersTo(versions.position);
    if (ANSWERS_TO_A_REQUEST.has(frame.type)) this.isFinishing = this.isRetrying = false;
  }

  get isOpen() {
    return this.line === "open";
  }

  get maySend() {
    return Boolean(this.known.progress?.may_send) && this.outbox.held.turn === null;
  }

  /** Whether the server has stored anything of the worker's. */
  get hasSaved() {
    const { labels, turns } = this.known;
    return Object.keys(labels).length > 0 || turns.some(({ speaker }) => speaker === "human");
  }

  /** The reply whose other versions may be asked for or kept, if it is the last turn. */
  get exchangeable() {
    const { turns, progress } = this.known;
    const last = turns.at(-1);
    return progress && !progress.thinking && last?.speaker === "bot" && last.counted ? last : null;
  }

  /** The number of the last reply, for its label; {} of earlier turns, which nobody can exchange. @param {number | null} position */
  versionOf(position) {
    return position !== null && this.exchangeable?.position === position ? { version: versionAt(this.known, position) } : {};
  }

  get isFirstFault() {
    const { fault, progress } = this.known;
    return fault?.attempts === 1 && !fault.may_give_up && !progress?.thinking && !this.isRetrying;
  }

  /** Whether the reply is being asked for once more. */
  get isTryingAgain() {
    return this.isRetrying || Boolean(this.known.fault && this.known.progress?.thinking);
  }
}
