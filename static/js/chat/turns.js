/** The conversation as a list, brought up to date in place so that focus and open help stay. */

import { make, setText } from "./dom.js";
import { Questions } from "./questions.js";

/**
 * @typedef {import("./store.js").Turn} Turn
 * @typedef {import("./answers.js").Answers} Answers
 * @typedef {import("./answers.js").Question} Question
 * @typedef {import("./answers.js").Value} Value
 * @typedef {{answers: Answers, mark: string, isBad: boolean}} Judgment
 * @typedef {{element: HTMLElement, text: HTMLElement, mark: HTMLElement, questions: Questions | null}} Row
 */

export class TurnList {
  /**
   * @param {HTMLElement} list
   * @param {{questions: Question[], botName: string,
   *          onAnswer: (position: number, key: string, value: Value, event: Event) => void}} options
   */
  constructor(list, options) {
    this.list = list;
    this.options = options;
    /** @type {Map<number, Row>} */
    this.rows = new Map();
    this.pending = this.row("human", "pending");
  }

  /**
   * @param {Turn[]} turns
   * @param {(turn: Turn) => Judgment} judgmentOf
   * @param {{text: string, mark: string, isBad: boolean} | null} pending  the worker's turn under way
   */
  show(turns, judgmentOf, pending) {
    const positions = new Set(turns.map(({ position }) => position));
    for (const [position, row] of this.rows) {
      if (positions.has(position)) continue;
      row.element.remove();
      this.rows.delete(position);
    }
    turns.forEach((turn, index) => this.place(this.rowOf(turn), index, turn, judgmentOf));
    this.showPending(pending);
  }

  /**
   * @param {Row} row
   * @param {number} index
   * @param {Turn} turn
   * @param {(turn: Turn) => Judgment} judgmentOf
   */
  place(row, index, turn, judgmentOf) {
    if (this.list.children[index] !== row.element) this.list.insertBefore(row.element, this.list.children[index] ?? null);
    setText(row.text, turn.text);
    if (turn.speaker === "human") setText(row.mark, "Sent");
    if (!row.questions) return;
    const { answers, mark, isBad } = judgmentOf(turn);
    row.questions.show(answers, mark, isBad);
  }

  /** @param {Turn} turn */
  rowOf(turn) {
    const known = this.rows.get(turn.position);
    if (known) return known;
    const row = this.row(turn.speaker, String(turn.position));
    if (turn.speaker === "bot" && turn.counted) {
      row.questions = new Questions(this.options.questions, row.text.id, (key, value, event) =>
        this.options.onAnswer(turn.position, key, value, event),
      );
      row.element.append(row.questions.element);
    }
    this.rows.set(turn.position, row);
    return row;
  }

  /**
   * @param {"human" | "bot"} speaker
   * @param {string} name
   * @returns {Row}
   */
  row(speaker, name) {
    const text = make("p", { class: "turn__text", id: `turn-${name}`, dir: "auto" });
    const mark = make("span", { class: "mark" });
    const who = make("p", { class: "turn__who" }, speaker === "bot" ? this.options.botName : "You", mark);
    const element = make("li", { class: `turn turn--${speaker}` }, who, text);
    return { element, text, mark, questions: null };
  }

  /** @param {{text: string, mark: string, isBad: boolean} | null} pending */
  showPending(pending) {
    const { element, text, mark } = this.pending;
    if (!pending) return element.remove();
    setText(text, pending.text);
    setText(mark, pending.mark);
    mark.classList.toggle("mark--bad", pending.isBad);
    this.list.append(element);
  }

  /**
   * The group of a question under a reply.
   *
   * @param {number} position
   * @param {string} key
   */
  group(position, key) {
    return this.rows.get(position)?.questions?.fieldsets.get(key) ?? null;
  }
}
