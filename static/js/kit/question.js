/** One question in the dock: large answers in one place, for every kind of question. */

import { isSame, keysOf } from "./answers.js";
import { make, setText } from "./dom.js";
import { gettext } from "./gettext.js";

/**
 * @typedef {import("./answers.js").Answer} Answer
 * @typedef {import("./answers.js").Choice} Choice
 * @typedef {import("./answers.js").Value} Value
 * @typedef {import("./answers.js").FullQuestion} Question
 * @typedef {(key: string, answer: Answer, event: Event) => void} OnAnswer
 */

const MAX_CHARS = 2000;
/** Leaves out an optional question about choices, unless one of them has this key. */
const SKIP_KEY = "0";

export class QuestionView {
  /**
   * @param {Question} question
   * @param {{draft: string, onDraft: (text: string) => void, describedBy: string, onAnswer: OnAnswer, onEarly: () => void, cancel: {label: string, act: () => void} | null}} options
   *   draft: text that was written earlier and not saved; onEarly: called if an answer comes too early; cancel: button to leave the question
   */
  constructor(question, { draft, onDraft, describedBy, onAnswer, onEarly, cancel }) {
    this.question = question;
    this.onAnswer = onAnswer;
    this.onEarly = onEarly;
    /** @type {Value[]} */
    this.selected = [];
    /** @type {HTMLTextAreaElement | null} */
    this.box = null;
    this.more = make("div", { class: "question__more" });
    // Focus goes to the group, not to its first button: a stray Enter must not answer.
    this.element = make(
      "fieldset",
      { class: "question is-open", tabindex: "-1", "data-question": question.key, "data-kind": question.kind },
      make("legend", { dir: "auto" }, question.wording),
      ...(question.kind === "text" ? this.textParts(draft, onDraft) : this.choiceParts()),
      this.more,
    );
    this.element.addEventListener("keydown", (event) => {
      const isDone = question.kind === "several" && event.key === "Enter" && event.target === this.element;
      if (isDone) this.submitByKey(event);
    });
    if (describedBy) this.element.setAttribute("aria-describedby", describedBy);
    if (question.help) this.more.append(help(question.help));
    if (!question.required) this.more.append(this.skipButton());
    if (cancel) this.more.append(this.button(cancel.label, "cancel", cancel.act));
  }

  /**
   * @param {string} text
   * @param {string} kind
   * @param {(event: Event) => void} act
   */
  button(text, kind, act) {
    const button = make("button", { type: "button", class: `button--plain question__${kind}` }, text);
    button.addEventListener("click", act);
    return button;
  }

  /** Leave the question out: by a key of its own among choices, by Done or Save if nothing is chosen or written. */
  skipButton() {
    const { key, kind, choices } = this.question;
    const button = this.button(gettext("Skip"), "skip", (event) => this.onAnswer(key, null, event));
    const isTaken = keysOf(choices).includes(SKIP_KEY) || choices.some(({ label }) => label.includes(SKIP_KEY)); // as in 10
    if (isTaken || kind === "text" || kind === "several") return button;
    button.setAttribute("aria-keyshortcuts", SKIP_KEY);
    button.prepend(keyCap(SKIP_KEY));
    return button;
  }

  choiceParts() {
    const { choices, kind, low_caption: low, high_caption: high } = this.question;
    const keys = keysOf(choices);
    const list = make("div", { class: "choices" }, ...choices.map((choice, at) => this.choice(choice, keys[at])));
    list.classList.toggle("choices--two", choices.length === 2);
    if (kind === "several") {
      const done = make("button", { type: "button", class: "button--main question__done", "aria-keyshortcuts": "Enter" }, gettext("Done"), keyCap("Enter"));
      done.addEventListener("click", (event) => this.submit(event));
      list.append(done);
      return [list];
    }
    if (kind !== "scale" || !(low || high)) return [list];
    return [list, make("div", { class: "ends", "aria-hidden": "true" }, make("span", {}, low), make("span", {}, high))];
  }

  /**
   * @param {Choice} choice
   * @param {string} key
   */
  choice(choice, key) {
    const { choices, kind, low_caption: low, high_caption: high } = this.question;
    const button = make("button", { type: "button", class: "choice", "aria-pressed": "false" });
    button.dataset.value = JSON.stringify(choice.value);
    if (key) button.setAttribute("aria-keyshortcuts", key);
    if (key && (kind !== "scale" || key !== choice.label)) button.append(keyCap(key));
    button.append(make("span", {}, choice.label));
    const end = choice === choices[0] ? low : choice === choices.at(-1) ? high : "";
    if (kind === "scale" && end) button.append(make("span", { class: "visually-hidden" }, ` ${end}`));
    else if (choice.hint && kind !== "scale") button.append(make("small", {}, choice.hint));
    button.addEventListener("click", (event) => this.onClick(button, choice.value, event));
    return button;
  }

  /**
   * @param {HTMLButtonElement} button
   * @param {Value} value
   * @param {Event} event
   */
  onClick(button, value, event) {
    if (this.question.kind !== "several") return this.answer(value, event);
    if (this.isLocked) return this.onEarly();
    const others = this.selected.filter((each) => each !== value);
    const toggled = others.length < this.selected.length ? others : [...others, value];
    this.selected = this.question.choices.map((choice) => choice.value).filter((each) => toggled.includes(each));
    button.setAttribute("aria-pressed", String(this.selected.includes(value)));
    this.showDone();
  }

  /** Submit the selected choices; a required question needs one. @param {Event} event */
  submit(event) {
    if (this.isMissing) this.focus();
    else this.answer([...this.selected], event);
  }

  /** Without the key's own effect, which would be a new line in the message box that has the focus then. @param {Event} event */
  submitByKey(event) {
    event.preventDefault();
    this.submit(event);
  }

  get isMissing() {
    return this.question.kind === "several" && this.question.required && !this.selected.length;
  }

  showDone() {
    this.element.querySelector(".question__done")?.setAttribute("aria-disabled", String(this.isLocked || this.isMissing));
  }

  /**
   * @param {string} draft
   * @param {(text: string) => void} onDraft
   */
  textParts(draft, onDraft) {
    const limit = this.question.max_chars ?? MAX_CHARS;
    const box = make("textarea", { class: "question__text", rows: "2", maxlength: String(limit), "aria-label": this.question.wording });
    const keys = [keyCap(gettext("Ctrl")), keyCap("Enter")];
    const send = make("button", { type: "button", class: "button--main question__done", "aria-keyshortcuts": "Control+Enter" }, gettext("Save"), ...keys);
    const answer = (/** @type {Event} */ event) => {
      const text = box.value.trim();
      const isSkipped = !text && !this.question.required && event.type === "keydown";
      if (text || isSkipped) this.answer(text || null, event);
      else box.focus();
    };
    box.value = draft;
    box.addEventListener("input", () => onDraft(box.value));
    send.addEventListener("click", answer);
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) answer(event);
    });
    this.box = box;
    return [make("div", { class: "question__write" }, box, send)];
  }

  /**
   * @param {Answer} answer
   * @param {Event} event
   */
  answer(answer, event) {
    if (this.isLocked) this.onEarly();
    else this.onAnswer(this.question.key, answer, event);
  }

  get isLocked() {
    return this.element.dataset.locked === "true";
  }

  /**
   * @param {Answer | undefined} answer  earlier answer
   * @param {boolean} mayAnswer
   * @param {boolean} isUnread  true while the text is not read to its end
   */
  show(answer, mayAnswer, isUnread) {
    this.element.dataset.locked = String(!mayAnswer);
    this.element.dataset.unread = String(isUnread);
    for (const button of this.element.querySelectorAll("button.choice")) {
      button.setAttribute("aria-disabled", String(!mayAnswer));
    }
    this.showDone();
    if (this.shownAnswer !== undefined && isSame(this.shownAnswer, answer)) return;
    this.shownAnswer = answer ?? null;
    if (this.box && typeof answer === "string") this.box.value = answer;
    this.selected = [answer ?? []].flat();
    const pressed = new Set(this.selected.map((each) => JSON.stringify(each)));
    for (const button of this.element.querySelectorAll("button.choice")) {
      const { value } = /** @type {HTMLElement} */ (button).dataset;
      button.setAttribute("aria-pressed", String(pressed.has(value ?? "")));
    }
    this.showDone();
  }

  /** Focus the group, or the box of a free-text question. */
  focus() {
    (this.box ?? this.element).focus({ preventScroll: true });
  }
}

/** The key of a button, as it is shown on it. @param {string} key */
function keyCap(key) {
  return make("kbd", { "aria-hidden": "true" }, key);
}

/** @param {string} text */
function help(text) {
  const paragraph = make("p");
  setText(paragraph, text);
  return make("details", { class: "question__help" }, make("summary", {}, gettext("What does this mean?")), paragraph);
}
