/** Asks about the turns and the whole conversation: which are open, where they are shown, and their answers. */

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
   *          elementOf: (position: number | string) => HTMLElement | null}} parts  elementOf: the element of a turn
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
        saved: (subject) => work.dialogue.labels[subject] ?? {},
        describedBy: (subject) => turnNamed(partsOf(subject).position),
      },
    });
    const [first] = this.asks.all;
    if (first && this.asks.judgesTurns) this.asking.keepRoom(subjectOf(null, first.number));
  }

  /** Unlock the questions about the whole conversation: its turns were read when they came. */
  meetWhole() {
    for (const subject of this.asks.atEnd) {
      this.asking.attention.meet(subject, 0);
      this.asking.attention.read(subject);
    }
  }

  /** Record that the turn is on the page. @param {Turn} turn @param {HTMLElement} element */
  meet(turn, element) {
    const isOther = (this.met.get(turn.position) ?? turn.text) !== turn.text;
    this.met.set(turn.position, turn.text);
    for (const { number } of this.asks.about(turn)) {
      if (isOther) this.asking.attention.forget(subjectOf(turn.position, number));
      this.asking.meet(subjectOf(turn.position, number), [element], turn.text.length);
    }
  }

  /** Required subjects of single turns without answers, neither saved nor being sent. */
  get unjudged() {
    return this.asking.unjudged(this.asks.required(this.work.dialogue.turns));
  }

  /** Subjects about the whole conversation without answers. */
  get unrated() {
    return this.asking.unjudged(this.asks.atEnd);
  }

  /** The subject that must be answered before the conversation goes on. @returns {string | null} */
  get waiting() {
    const { progress } = this.work.dialogue;
    if (!progress) return null;
    const { unjudged } = this;
    if (progress.thinking) return unjudged.find((subject) => this.asks.of(subject).moment === "waiting") ?? null;
    if (unjudged.length) return progress.may_send ? null : unjudged[0];
    return this.work.isRating || isLastTurn(progress) ? this.unrated[0] ?? null : null;
  }

  /** True if neither a message nor an answer is left to give. */
  get isOver() {
    const { progress, fault } = this.work.dialogue;
    return progress !== null && !fault && isLastTurn(progress) && !this.unjudged.length && !this.unrated.length;
  }

  /** Mode of the dock: "over", "write", "ask" or "both". */
  get mode() {
    if (this.isOver) return "over";
    if (!this.asking.current) return "write";
    return this.work.isWriting ? "both" : "ask";
  }

  /** Number of judged replies, saved or not, and of those needed. */
  get count() {
    const { turns, progress } = this.work.dialogue;
    const replies = turns.filter(({ speaker, counted }) => speaker !== "human" && counted);
    const open = new Set(this.unjudged.map((subject) => partsOf(subject).position));
    const done = replies.filter(({ position }) => !open.has(position)).length;
    const needed = progress?.labels_needed ?? 1;
    return { done, of: needed, isAll: done >= needed };
  }

  /**
   * @param {Turn} turn
   * @param {Ask} ask
   * @returns {import("./turns.js").Judgment}
   */
  judgmentOf({ position }, { number }) {
    const subject = subjectOf(position, number);
    const { isOpen, dialogue, outbox } = this.work;
    const answers = this.asking.answersOf(subject);
    if (this.asking.current?.subject === subject) return { state: "asked", text: "", answers: answers ?? {} };
    if (!answers) return { state: dialogue.progress?.may_send ? "unjudged" : "", text: "", answers: {} };
    const isHeld = subject in outbox.held.labels;
    const text = inShort(this.asking.questionsOf(subject), answers);
    return { state: isHeld ? (isOpen ? "saving" : "unsaved") : "saved", text, answers };
  }

  /** Whether something is answered about the turn, saved or not. @param {Turn} turn */
  isAnswered(turn) {
    return this.asks.about(turn).some(({ number }) => Object.keys(this.asking.answersOf(subjectOf(turn.position, number)) ?? {}).length > 0);
  }

  get askedElement() {
    const { current } = this.asking;
    const position = current && partsOf(current.subject).position;
    return position === null ? null : this.elementOf(position);
  }

  /** Focus the question, and scroll to the reply that it is about. */
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
