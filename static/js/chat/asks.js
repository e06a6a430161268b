/**
 * The asks of a conversation, and the turns that each is about. Pure.
 *
 * @typedef {import("../kit/answers.js").Question} Question
 * @typedef {import("./store.js").Turn} Turn
 * @typedef {"own_turn" | "partner_turn" | "dialogue"} About
 * @typedef {{number: number, about: About, moment: string, required: boolean, questions: Question[]}} Ask
 */

import { partsOf, subjectOf } from "../kit/subjects.js";

export class Asks {
  /** @param {Ask[]} asks */
  constructor(asks) {
    this.all = asks;
    this.whole = asks.filter(({ about }) => about === "dialogue");
  }

  /** @param {string} subject @returns {Ask} */
  of(subject) {
    const { ask } = partsOf(subject);
    return /** @type {Ask} */ (this.all.find(({ number }) => number === ask));
  }

  /** The asks about this turn. @param {Pick<Turn, "speaker" | "counted">} turn @returns {Ask[]} */
  about({ speaker, counted }) {
    if (!counted) return [];
    const topic = speaker === "human" ? "own_turn" : "partner_turn";
    return this.all.filter(({ about }) => about === topic);
  }

  /** Subjects of the required asks about these turns, turn after turn. @param {Turn[]} turns @returns {string[]} */
  required(turns) {
    return turns.flatMap((turn) =>
      this.about(turn).filter(({ required }) => required).map(({ number }) => subjectOf(turn.position, number)),
    );
  }

  /** True for a vote: an optional ask of one short question, answered by one press beneath the turn. @param {Ask} ask */
  static isVote({ required, questions: [question, ...others] }) {
    return !required && !others.length && (question.kind ?? "one") === "one" && question.choices.length <= 5;
  }

  /** True if single replies must be judged. */
  get judgesTurns() {
    return this.all.some(({ about, required }) => required && about === "partner_turn");
  }

  /** Subjects of the asks about the whole conversation. @returns {string[]} */
  get atEnd() {
    return this.whole.map(({ number }) => subjectOf(null, number));
  }
}
