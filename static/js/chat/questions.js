/** The questions under one reply: a fieldset each, with a button per choice. */

import { askedQuestions, keysOf, openQuestion } from "./answers.js";
import { make, setText } from "./dom.js";

/**
 * @typedef {import("./answers.js").Answers} Answers
 * @typedef {import("./answers.js").Choice} Choice
 * @typedef {import("./answers.js").Question} Question
 * @typedef {import("./answers.js").Value} Value
 * @typedef {(key: string, value: Value, event: Event) => void} OnAnswer
 */

export class Questions {
  /**
   * @param {Question[]} questions
   * @param {string} describedBy  id of the reply's text
   * @param {OnAnswer} onAnswer
   */
  constructor(questions, describedBy, onAnswer) {
    this.questions = questions;
    this.onAnswer = onAnswer;
    this.fieldsets = new Map(questions.map((question) => [question.key, this.fieldset(question, describedBy)]));
    this.mark = make("p", { class: "mark" });
    this.element = make("div", { class: "questions" }, ...this.fieldsets.values(), this.mark);
  }

  /**
   * @param {Question} question
   * @param {string} describedBy
   */
  fieldset(question, describedBy) {
    const keys = keysOf(question.choices);
    const buttons = question.choices.map((choice, index) => this.choice(question, choice, keys[index]));
    // Focus goes to the group, not to its first button: a stray Enter must not answer.
    const group = make(
      "fieldset",
      { class: "question", tabindex: "-1", "aria-describedby": describedBy, "data-question": question.key },
      make("legend", {}, question.wording),
      make("div", { class: "choices" }, ...buttons),
    );
    if (question.help) group.append(help(question));
    return group;
  }

  /**
   * @param {Question} question
   * @param {Choice} choice
   * @param {string} key
   */
  choice(question, choice, key) {
    const attributes = { type: "button", class: "choice", "aria-pressed": "false", "aria-keyshortcuts": key };
    const button = make("button", attributes, make("kbd", { "aria-hidden": "true" }, key), ` ${choice.label}`);
    if (choice.hint) button.append(make("small", {}, choice.hint));
    button.dataset.value = JSON.stringify(choice.value);
    button.addEventListener("click", (event) => this.onAnswer(question.key, choice.value, event));
    return button;
  }

  /**
   * @param {Answers} answers
   * @param {string} mark
   * @param {boolean} isBad
   */
  show(answers, mark, isBad) {
    const asked = new Set(askedQuestions(this.questions, answers).map(({ key }) => key));
    const open = openQuestion(this.questions, answers);
    for (const [key, fieldset] of this.fieldsets) {
      fieldset.hidden = !asked.has(key);
      fieldset.classList.toggle("is-open", key === open?.key);
      for (const button of fieldset.querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button.dataset.value === JSON.stringify(answers[key])));
      }
    }
    this.element.classList.toggle("is-open", open !== null);
    this.mark.classList.toggle("mark--bad", isBad);
    setText(this.mark, mark);
  }
}

/** @param {Question} question */
function help(question) {
  return make(
    "details",
    { class: "question__help" },
    make("summary", {}, "What does this mean?"),
    make("p", {}, question.help),
  );
}
