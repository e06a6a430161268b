/** Questionnaires about the worker in the dock, one after the other; all answers are sent at the end. */

import { askedQuestions, complete, inWords } from "../kit/answers.js";
import { collect, fillForm } from "../kit/collecting.js";
import { byId, make, setText } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";
import { fleetingStorage, Outbox } from "../kit/outbox.js";
import { isDocked } from "../kit/sight.js";

/**
 * @typedef {import("../kit/answers.js").Answers} Answers
 * @typedef {import("../kit/answers.js").FullQuestion} FullQuestion
 * @typedef {import("../kit/answers.js").Question} Question
 * @typedef {{key: string, required: boolean, questions: Question[]}} Set
 * @typedef {{sets: Set[]}} Settings
 */

class Questionnaire {
  /** @param {Settings} settings */
  constructor({ sets }) {
    this.sets = sets.map((each) => ({ ...each, questions: each.questions.map(complete) }));
    /** Keys of questionnaires that are skipped. @type {string[]} */
    this.skipped = [];
    this.outbox = new Outbox(fleetingStorage(), "questionnaire", (key, answers) => ({ type: "answered", key, answers }));
    this.dock = byId("dock");
    this.asking = collect({
      outbox: this.outbox,
      questions: (key) => this.set(key).questions,
      all: this.sets.flatMap((each) => each.questions),
      first: sets[0].key,
      pageId: "asking",
      waiting: () => this.current?.key ?? null,
      describedBy: () => "",
      done: () => this.goOn(),
      changed: () => this.render(),
      restart: () => this.restart(),
    });
    byId("leave-out").addEventListener("click", () => this.skip());
    this.begin();
  }

  /** Unlock the questions: there is no text to read first. */
  begin() {
    for (const { key } of this.sets) {
      this.asking.attention.meet(key, 0);
      this.asking.attention.read(key);
    }
    this.render();
    this.asking.focus();
  }

  /** @param {string} key */
  set(key) {
    return /** @type {Set & {questions: FullQuestion[]}} */ (this.sets.find((each) => each.key === key));
  }

  /** The questionnaire that is being answered; undefined if all are. */
  get current() {
    const { labels } = this.outbox.held;
    return this.sets.find(({ key }) => !labels[key] && !this.skipped.includes(key));
  }

  /** @param {string} key @returns {Answers} */
  answersOf(key) {
    return this.outbox.held.labels[key] ?? this.outbox.begunOf(key) ?? {};
  }

  skip() {
    const { current } = this;
    if (!current || current.required) return;
    this.outbox.keepBegun(current.key, null);
    this.skipped.push(current.key);
    this.render();
    this.goOn();
  }

  goOn() {
    if (this.current) this.asking.focus();
    else byId("over").focus({ preventScroll: true });
  }

  restart() {
    for (const { key } of this.sets) this.outbox.dropLabel(key);
    this.skipped = [];
    this.asking.attention.subjects.clear();
    this.begin();
  }

  render() {
    const { current } = this;
    this.asking.render();
    this.dock.dataset.mode = current ? "ask" : "over";
    byId("over").hidden = current !== undefined;
    byId("begin").hidden = current !== undefined;
    byId("leave-out").hidden = current?.required ?? true;
    const answered = this.answered();
    byId("answered").replaceChildren(...answered.map(line));
    if (answered.length && isDocked()) scrollTo({ top: document.documentElement.scrollHeight });
    this.showProgress();
    fillForm(this.payload());
  }

  /** Answered questions with their answers. */
  answered() {
    return this.sets.flatMap(({ key, questions }) => {
      const answers = this.answersOf(key);
      return askedQuestions(questions, answers)
        .filter((question) => question.key in answers)
        .map((question) => ({ question, answer: answers[question.key] }));
    });
  }

  showProgress() {
    const { current } = this;
    const questions = this.sets
      .filter(({ key }) => !this.skipped.includes(key))
      .flatMap(({ key, questions }) => askedQuestions(questions, this.answersOf(key)));
    const done = this.answered().length;
    setText(byId("done-text"), current ? gettext("Question %(n)s of %(all)s", { n: done + 1, all: questions.length }) : "");
    byId("bar").setAttribute("max", String(Math.max(questions.length, 1)));
    byId("bar").setAttribute("value", String(current ? done : Math.max(questions.length, 1)));
  }

  /** By questionnaire its answers, null if it is skipped, and how long they took. */
  payload() {
    const { labels, timings } = this.outbox.held;
    return Object.fromEntries(
      this.sets.map(({ key }) => [key, { answers: labels[key] ?? null, ...(timings[key] && { timing: timings[key] }) }]),
    );
  }
}

/** @param {{question: Question, answer: import("../kit/answers.js").Answer}} answered */
function line({ question, answer }) {
  const text = answer === null ? gettext("Skipped") : inWords(question, answer);
  return make(
    "li",
    {},
    make("p", { class: "answered__asked", dir: "auto" }, question.wording),
    make("p", { class: "answered__given", ...(/\p{L}/u.test(text) && { dir: "auto" }) }, text), // a number goes by the page
  );
}

new Questionnaire(JSON.parse(byId("questionnaire-settings").textContent ?? "{}"));
