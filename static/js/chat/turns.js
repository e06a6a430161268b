/** The conversation as a list, updated in place so that the focus stays. */

import { make, setText, textElement } from "../kit/dom.js";

/**
 * @typedef {import("./store.js").Turn} Turn
 * @typedef {"" | "asked" | "unjudged" | "saving" | "unsaved" | "saved"} State
 * @typedef {import("./asks.js").Ask} Ask
 * @typedef {import("../kit/answers.js").Answers} Answers
 * @typedef {import("../kit/answers.js").Value} Value
 * @typedef {{state: State, text: string, answers: Answers}} Judgment  text: the answers in short
 * @typedef {{text: string, mark: string, isBad: boolean}} Pending
 * @typedef {{element: HTMLElement, show: (judgment: Judgment) => void}} Foot  of one ask
 * @typedef {{element: HTMLElement, text: HTMLElement, source: string, feet: Map<number, Foot>}} Row
 */

import { gettext } from "../kit/gettext.js";
import { Asks } from "./asks.js";

const changes = () => ({ saved: gettext("Change"), saving: gettext("saving …"), unsaved: gettext("not saved yet"), unjudged: "", asked: "", "": "" });

/** The answers about a turn in short, and a button to change them. */
class Chip {
  /**
   * @param {string} invitation  text while there are no answers
   * @param {() => void} onChange
   */
  constructor(invitation, onChange) {
    this.invitation = invitation;
    this.text = make("span", { class: "chip__text" });
    this.more = make("span", { class: "chip__more" });
    this.element = make("button", { type: "button", class: "chip", "aria-live": "off" }, this.text, " ", this.more);
    this.element.addEventListener("click", onChange);
  }

  /** @param {Judgment} judgment */
  show({ state, text }) {
    this.element.hidden = state === "" || state === "asked";
    this.element.dataset.state = state;
    setText(this.text, state === "unjudged" ? this.invitation : text);
    setText(this.more, changes()[state]);
  }
}

/** An optional vote by one press, which a second press withdraws. */
class Votes {
  /**
   * @param {Ask} ask
   * @param {(key: string, value: Value | null) => void} onVote  null: withdrawn
   */
  constructor({ questions: [question] }, onVote) {
    this.question = question;
    /** @type {Value | null} */
    this.value = null;
    this.buttons = question.choices.map(({ value, label }) => {
      const button = make("button", { type: "button", class: "vote", "aria-pressed": "false" }, label);
      button.addEventListener("click", () => onVote(question.key, this.value === value ? null : value));
      return button;
    });
    this.element = make("div", { class: "votes", role: "group", "aria-label": question.wording, "aria-live": "off" }, ...this.buttons);
  }

  /** @param {Judgment} judgment */
  show({ answers, state }) {
    const answer = answers[this.question.key] ?? null;
    this.value = Array.isArray(answer) ? null : answer;
    this.element.dataset.state = state;
    this.question.choices.forEach(({ value }, at) => {
      this.buttons[at].setAttribute("aria-pressed", String(value === this.value));
    });
  }
}

export class TurnList {
  /**
   * @param {HTMLElement} list
   * @param {{botName: string, asksOf: (turn: Turn) => Ask[], onChange: (position: number, ask: number) => void,
   *          onVote: (position: number, ask: number, key: string, value: Value | null) => void,
   *          onShown: (turn: Turn, text: HTMLElement) => void}} options
   */
  constructor(list, options) {
    this.list = list;
    this.options = options;
    /** @type {Map<number, Row>} */
    this.rows = new Map();
    this.pending = this.row("human", "pending", { text: " " }); // not empty: an empty text means a reply without text
    this.pendingMark = make("span", { class: "mark" });
    this.pending.element.append(this.pendingMark);
  }

  /**
   * @param {Turn[]} turns
   * @param {(turn: Turn, ask: Ask) => Judgment} judgmentOf
   * @param {Pending | null} pending  the worker's turn that is being sent
   */
  show(turns, judgmentOf, pending) {
    const positions = new Set(turns.map(({ position }) => position));
    for (const [position, row] of this.rows) {
      if (positions.has(position)) continue;
      row.element.remove();
      this.rows.delete(position);
    }
    turns.forEach((turn, index) => {
      const row = this.rowOf(turn);
      if (this.list.children[index] !== row.element) this.list.insertBefore(row.element, this.list.children[index] ?? null);
      const judgments = this.options.asksOf(turn).map((ask) => ({ ask, ...judgmentOf(turn, ask) }));
      row.element.classList.toggle("is-asked", judgments.some(({ state }) => state === "asked"));
      for (const { ask, ...judgment } of judgments) row.feet.get(ask.number)?.show(judgment);
    });
    this.showPending(pending);
  }

  /** @param {Turn} turn */
  rowOf(turn) {
    const existing = this.rows.get(turn.position);
    if (existing) {
      if (existing.source !== turn.text && turn.speaker === "bot") this.rewrite(existing, turn);
      return existing;
    }
    const row = this.row(turn.speaker, String(turn.position), turn);
    for (const ask of this.options.asksOf(turn)) {
      const foot = this.footOf(turn, ask);
      row.feet.set(ask.number, foot);
      row.element.append(foot.element);
    }
    if (row.feet.size) this.options.onShown(turn, row.text);
    this.rows.set(turn.position, row);
    return row;
  }

  /** Another reply takes the place of the one before. @param {Row} row @param {Turn} turn */
  rewrite(row, turn) {
    const text = textElement(turn.text, turn.html, { id: `turn-${turn.position}` });
    row.text.replaceWith(text);
    Object.assign(row, { text, source: turn.text });
    if (row.feet.size) this.options.onShown(turn, text);
  }

  /**
   * @param {Turn} turn
   * @param {Ask} ask
   * @returns {Foot}
   */
  footOf({ position }, ask) {
    const { onChange, onVote } = this.options;
    if (Asks.isVote(ask)) return new Votes(ask, (key, value) => onVote(position, ask.number, key, value));
    const invitation = ask.about === "own_turn" ? gettext("Judge this message") : gettext("Judge this reply");
    return new Chip(invitation, () => onChange(position, ask.number));
  }

  /**
   * @param {Turn["speaker"]} speaker
   * @param {string} name
   * @param {{text: string, html?: string}} content
   * @returns {Row}
   */
  row(speaker, name, content) {
    const text = textElement(content.text, content.html, { id: `turn-${name}` });
    const who = make("span", { class: "visually-hidden" }, `${speaker === "human" ? gettext("You") : this.options.botName}: `);
    const element = make("li", { class: `turn turn--${speaker}`, ...(speaker === "human" && { "aria-live": "off" }) }, who, text);
    return { element, text, source: content.text, feet: new Map() };
  }

  /** @param {Pending | null} pending */
  showPending(pending) {
    const { element, text } = this.pending;
    if (!pending) return element.remove();
    setText(text, pending.text);
    setText(this.pendingMark, pending.mark);
    this.pendingMark.classList.toggle("mark--bad", pending.isBad);
    if (!element.isConnected) this.list.append(element);
  }

  /** Let screen readers announce new turns: the list becomes a live region, so that no reply is on the page twice. */
  announceFromNowOn() {
    this.list.setAttribute("aria-live", "polite");
  }

  /** @param {number | string} position */
  element(position) {
    return this.rows.get(Number(position))?.element ?? null;
  }
}
