/**
 * Asks the questions about one subject after the other in the dock; shared by chat, judging and rating.
 *
 * @typedef {import("./answers.js").Answer} Answer
 * @typedef {import("./answers.js").Answers} Answers
 * @typedef {import("./answers.js").Question} Question
 * @typedef {import("./answers.js").FullQuestion} FullQuestion
 * @typedef {import("./outbox.js").Frame} Frame
 * @typedef {import("./outbox.js").Outbox} Outbox
 * @typedef {object} Page
 * @property {() => string | null} waiting  the subject that is to be judged now
 * @property {(subject: string) => Answers} saved  what the server has stored about it
 * @property {(subject: string) => string} describedBy  ids of its text
 * @property {(frame: Frame) => void} send
 * @property {(subject: string, event: Event) => void} done  all is answered about this subject
 * @property {() => void} changed
 * @property {(subject: string | null) => {label: string, act: () => void} | null} [cancel]  a way out of what is asked
 */

import { complete, openQuestion, withAnswer } from "./answers.js";
import { Attention } from "./attention.js";
import { gettext } from "./gettext.js";
import { HeldBack } from "./held_back.js";
import { QuestionView } from "./question.js";
import { ReadingAlong } from "./reading_along.js";
import { EndInSight } from "./sight.js";

const EXPLAINED_MS = 6000;

/** @type {WeakMap<Question[], FullQuestion[]>} */
const completed = new WeakMap();

/** @param {Question[]} questions @returns {FullQuestion[]} */
function full(questions) {
  const completedQuestions = completed.get(questions) ?? questions.map(complete);
  completed.set(questions, completedQuestions);
  return completedQuestions;
}

/** Name under which the outbox keeps the draft of an answer to a question. @param {string} subject @param {string} key */
function draftName(subject, key) {
  return `${subject} ${key}`;
}

export class Asking {
  /**
   * @param {Question[] | ((subject: string) => Question[])} questions  the same of every subject, or by subject
   * @param {{dock: HTMLElement, place: HTMLElement, outbox: Outbox, page: Page}} parts  place: where the question stands
   */
  constructor(questions, { dock, place, outbox, page }) {
    /** @type {(subject: string) => FullQuestion[]} */
    this.questionsOf = (subject) => full(typeof questions === "function" ? questions(subject) : questions);
    this.dock = dock;
    this.place = place;
    this.outbox = outbox;
    this.page = page;
    /** A subject whose answers are given once more; the earlier ones hold until all are. @type {{subject: string, answers: Answers} | null} */
    this.change = null;
    this.heldBack = new HeldBack();
    this.attention = new Attention(() => page.changed());
    this.sight = new EndInSight(dock, (subject) => this.attention.read(subject));
    this.along = new ReadingAlong(dock, this.sight);
    /** Whether an answer was tried before the text was read: the page then says why none counts. */
    this.wasEarly = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.explaining = undefined;
    this.shownKey = "";
    /** @type {QuestionView | null} */
    this.view = null;
  }

  /** Reserve space for a question in the dock while none is open. @param {string} subject */
  keepRoom(subject) {
    this.view = this.viewOf(this.questionsOf(subject)[0], null);
    this.place.replaceChildren(this.view.element);
  }

  /**
   * Record that the subject's texts are on the page.
   *
   * @param {string} subject
   * @param {HTMLElement[]} texts
   * @param {number} length
   */
  meet(subject, texts, length) {
    this.attention.meet(subject, length);
    if (!this.attention.isRead(subject)) this.sight.add(texts, subject);
  }

  /** The open question with its subject and the answers so far; null if there is none. */
  get current() {
    const subject = this.change?.subject ?? this.page.waiting();
    if (subject === null) return null;
    const answers = this.change?.answers ?? this.outbox.begunOf(subject) ?? {};
    const question = openQuestion(this.questionsOf(subject), answers);
    return question && { subject, question: /** @type {FullQuestion} */ (question), answers };
  }

  /** Answers about a subject, saved or not; null without any. @param {string} subject @returns {Answers | null} */
  answersOf(subject) {
    const answers = this.outbox.held.labels[subject] ?? this.page.saved(subject);
    return Object.keys(answers).length ? answers : null;
  }

  /**
   * The subjects without answers, neither saved nor being sent.
   *
   * @param {string[]} subjects
   */
  unjudged(subjects) {
    const { labels } = this.outbox.held;
    return subjects.filter((subject) => !labels[subject] && !Object.keys(this.page.saved(subject)).length);
  }

  /** @param {string} subject */
  isJudged(subject) {
    return this.unjudged([subject]).length === 0;
  }

  /** Ask about this subject (again). @param {string} subject */
  ask(subject) {
    this.change = { subject, answers: {} };
    this.page.changed();
    this.focus();
  }

  /** Leave the earlier answers as they are. */
  keep() {
    this.change = null;
    this.page.changed();
  }

  /**
   * @param {string} key
   * @param {Answer} answer
   * @param {Event} event
   */
  answer(key, answer, event) {
    const { current } = this;
    if (!current || current.question.key !== key || !this.attention.mayClick) return;
    const { subject } = current;
    this.wasEarly = false;
    const undo = this.undoing(subject);
    const questions = this.questionsOf(subject);
    const answers = withAnswer(questions, current.answers, key, answer);
    const isDone = openQuestion(questions, answers) === null;
    if (isDone) this.hold(subject, answers);
    else if (this.change) this.change = { subject, answers };
    else this.outbox.keepBegun(subject, answers);
    this.outbox.keepDraft("", draftName(subject, key));
    this.heldBack.hold(() => isDone && this.send(subject), undo);
    if (event.isTrusted) this.heldBack.flush();
    this.page.changed();
    if (isDone) this.page.done(subject, event);
    else this.focus();
  }

  /**
   * @param {string} subject
   * @param {Answers} answers
   */
  hold(subject, answers) {
    this.outbox.holdLabel(subject, answers, this.attention.timing());
    this.outbox.keepBegun(subject, null);
    this.change = null;
  }

  /** @param {string} subject */
  send(subject) {
    const frame = this.outbox.frameOf(subject);
    if (frame) this.page.send(frame);
  }

  /** A function that restores the current answers about this subject. @param {string} subject */
  undoing(subject) {
    const { change } = this;
    const begun = this.outbox.begunOf(subject);
    const { labels, timings } = this.outbox.held;
    return () => {
      this.change = change;
      this.outbox.keepBegun(subject, begun);
      if (labels[subject]) this.outbox.holdLabel(subject, labels[subject], timings[subject]);
      else this.outbox.dropLabel(subject);
      this.page.changed();
    };
  }

  render() {
    const { current } = this;
    this.attention.ask(current?.subject ?? null, current?.question.key);
    this.dock.dataset.keys = this.attention.mayPress ? "count" : "wait";
    this.place.inert = current === null;
    const isUnread = current !== null && !this.attention.isRead(current.subject);
    this.dock.dataset.early = String(this.wasEarly);
    this.along.show(isUnread && this.dock.dataset.mode !== "both" ? current.subject : null);
    if (!current) return void (this.shownKey = "");
    const { subject, question } = current;
    const viewKey = JSON.stringify([subject, question.key, this.change !== null]);
    if (viewKey !== this.shownKey) {
      const hadFocus = this.place.contains(document.activeElement);
      this.view = this.viewOf(question, subject);
      this.place.replaceChildren(this.view.element);
      this.shownKey = viewKey;
      if (hadFocus) this.focus();
    }
    this.view?.show(this.answersOf(subject)?.[question.key], this.attention.mayClick, isUnread);
  }

  /**
   * @param {FullQuestion} question
   * @param {string | null} subject
   */
  viewOf(question, subject) {
    const draft = draftName(subject ?? "", question.key);
    return new QuestionView(question, {
      draft: subject === null ? "" : this.outbox.draftOf(draft),
      onDraft: (text) => this.outbox.keepDraft(text, draft),
      describedBy: subject === null ? "" : this.page.describedBy(subject),
      onAnswer: (...answer) => this.answer(...answer),
      onEarly: () => void this.readOn(),
      cancel: this.change ? { label: gettext("Keep it as it was"), act: () => this.keep() } : this.page.cancel?.(subject) ?? null,
    });
  }

  get group() {
    return this.current && this.view ? this.view.element : null;
  }

  focus() {
    if (this.current) this.view?.focus();
  }

  /** Scroll on after an answer that came before the end of the text was seen; true if it scrolled. */
  readOn() {
    const { current } = this;
    if (!current || this.attention.isRead(current.subject)) return false;
    this.sight.readOn(current.subject);
    this.explain();
    return true;
  }

  /** Say for a moment why the answer did not count; by then the scroll may have opened the answers. */
  explain() {
    this.wasEarly = true;
    clearTimeout(this.explaining);
    this.explaining = setTimeout(() => this.forgetEarly(), EXPLAINED_MS);
    this.page.changed();
  }

  forgetEarly() {
    this.wasEarly = false;
    this.page.changed();
  }

  /** React to a key that came too early: scroll on in the text, or to the question where the dock scrolls with the page. */
  onEarlyKey() {
    this.focus();
    if (!this.readOn()) this.view?.element.scrollIntoView({ block: "nearest" });
  }
}
