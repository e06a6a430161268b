/** What is asked about the turns and the whole conversation: what waits for an answer, where it is asked, what was answered. */

import { inShort } from "../kit/answers.js";
import { Asking } from "../kit/asking.js";
import { byId } from "../kit/dom.js";
import { isDocked, isInView } from "../kit/sight.js";
import { partsOf, subjectOf } from "../kit/subjects.js";
import { Asks } from "./asks.js";
import { isLastTurn } from "./store.js";

/**
 * @typedef {import("./asks.js").Ask} Ask
 * @typedef {import("./store.js").Turn} Turn
 * @typedef {import("./work.js").Work} Work
 * @typedef {import("../kit/asking.js").Page} Page
 */

export class Labels {
  /**
   * @param {Work} work
   * @param {Ask[]} asks
   * @param {{dock: HTMLElement, page: Pick<Page, "send" | "done" | "changed" | "cancel">,
   *          elementOf: (position: number | string) => HTMLElement | null}} parts  elementOf: where a turn stands
   */
  constructor(work, asks, { dock, page, elementOf }) {
    this.work = work;
    this.asks = new Asks(asks);
    this.elementOf = elementOf;
    /** Texts of the turns that stood on the page last, by position. @type {Map<number, string>} */
    this.met = new Map();
    this.asking = new Asking((subject) => this.asks.of(subject).questions, {
      dock,
      place: byId("ask"),
      outbox: work.outbox,
      page: {
        ...page,
        waiting: () => this.waiting,
        saved: (subject) => work.known.labels[subject] ?? {},
        describedBy: (subject) => turnNamed(partsOf(subject).position),
      },
    });
    const [first] = this.asks.all;
    if (first && this.asks.judgesTurns) this.asking.keepRoom(subjectOf(null, first.number));
  }

  /** The questions about the whole can be asked: all of it will have been read as it came. */
  meetWhole() {
    for (const subject of this.asks.atEnd) {
      this.asking.attention.meet(subject, 0);
      this.asking.attention.read(subject);
    }
  }

  /** The turn stands on the page. @param {Turn} turn @param {HTMLElement} element */
  meet(turn, element) {
    const isOther = (this.met.get(turn.position) ?? turn.text) !== turn.text;
    this.met.set(turn.position, turn.text);
    for (const { number } of this.asks.about(turn)) {
      if (isOther) this.asking.attention.forget(subjectOf(turn.position, number));
      this.asking.meet(subjectOf(turn.position, number), [element], turn.text.length);
    }
  }

  /** What of single turns has to be answered and is not, neither saved nor on its way. */
  get unjudged() {
    return this.asking.unjudged(this.asks.required(this.work.known.turns));
  }

  /** What of the whole conversation is asked and not answered. */
  get unrated() {
    return this.asking.unjudged(this.asks.atEnd);
  }

  /** What must be answered before anything else can happen. @returns {string | null} */
  get waiting() {
    const { progress } = this.work.known;
    if (!progress) return null;
    const { unjudged } = this;
    if (progress.thinking) return unjudged.find((subject) => this.asks.of(subject).moment === "waiting") ?? null;
    if (unjudged.length) return progress.may_send ? null : unjudged[0];
    return this.work.isRating || isLastTurn(progress) ? this.unrated[0] ?? null : null;
  }

  /** Whether nothing more is to be said or answered. */
  get isOver() {
    const { progress, fault } = this.work.known;
    return progress !== null && !fault && isLastTurn(progress) && !this.unjudged.length && !this.unrated.length;
  }

  /** What the dock is for now. */
  get mode() {
    if (this.isOver) return "over";
    if (!this.asking.asked) return "write";
    return this.work.isWriting ? "both" : "ask";
  }

  /** Replies judged, sent or not, against those wanted. */
  get count() {
    const { turns, progress } = this.work.known;
    const replies = turns.filter(({ speaker, counted }) => speaker !== "human" && counted);
    const open = new Set(this.unjudged.map((subject) => partsOf(subject).position));
    const done = replies.filter(({ position }) => !open.has(position)).length;
    const wanted = progress?.labels_needed ?? 1;
    return { done, of: wanted, isAll: done >= wanted };
  }

  /**
   * @param {Turn} turn
   * @param {Ask} ask
   * @returns {import("./turns.js").Judgment}
   */
  judgmentOf({ position }, { number }) {
    const subject = subjectOf(position, number);
    const { isOpen, known, outbox } = this.work;
    const answers = this.asking.answersOf(subject);
    if (this.asking.asked?.subject === subject) return { state: "asked", text: "", answers: answers ?? {} };
    if (!answers) return { state: known.progress?.may_send ? "unjudged" : "", text: "", answers: {} };
    const isHeld = subject in outbox.held.labels;
    const text = inShort(this.asking.questionsOf(subject), answers);
    return { state: isHeld ? (isOpen ? "saving" : "unsaved") : "saved", text, answers };
  }

  /** Whether something is answered about the turn, saved or not. @param {Turn} turn */
  isAnswered(turn) {
    return this.asks.about(turn).some(({ number }) => Object.keys(this.asking.answersOf(subjectOf(turn.position, number)) ?? {}).length > 0);
  }

  get askedElement() {
    const { asked } = this.asking;
    const position = asked && partsOf(asked.subject).position;
    return position === null ? null : this.elementOf(position);
  }

  /** To the question and the reply that it is about. */
  showAsked() {
    this.asking.focus();
    const element = this.askedElement;
    if (element && !isInView(element)) element.scrollIntoView({ block: isDocked() ? "center" : "start" });
  }

  /** Move to the question of a new reply, unless the worker is writing. */
  offerQuestion() {
    const { activeElement } = document;
    const isFree = !activeElement || activeElement === document.body || activeElement.id === "message";
    if (!this.work.isWriting && (isFree || byId("fault").contains(activeElement))) this.asking.focus();
  }
}

/** Id of a turn; "" of the whole conversation. @param {number | null} position */
function turnNamed(position) {
  return position === null ? "" : `turn-${position}`;
}
