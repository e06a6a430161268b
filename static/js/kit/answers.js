/**
 * Selects the questions to ask next from the answers so far, and puts answers into short texts. Pure.
 *
 * @typedef {string | number | boolean} Value
 * @typedef {Value | Value[] | null} Answer  null: skipped
 * @typedef {Record<string, Answer>} Answers  by question
 * @typedef {{value: Value, label: string, hint?: string}} Choice
 * @typedef {"one" | "scale" | "several" | "text"} Kind
 * @typedef {object} Question
 * @property {string} key
 * @property {string} wording
 * @property {string} [short]  text before the answer if the key is not a word of the reader's language
 * @property {string} help
 * @property {Kind} [kind]
 * @property {boolean} [required]
 * @property {Choice[]} choices
 * @property {number} [low]  of a scale, as `high`
 * @property {number} [high]
 * @property {string} [low_caption]
 * @property {string} [high_caption]
 * @property {number} [max_chars]  of a text
 * @property {{question: string, value?: Value, values?: Value[]} | null} asked_if
 * @typedef {Question & {kind: Kind, required: boolean, low_caption: string, high_caption: string}} FullQuestion
 */

import { gettext } from "./gettext.js";

/**
 * A question with defaults for everything that its declaration leaves out.
 *
 * @param {Question} question
 * @returns {FullQuestion}
 */
export function complete(question) {
  const choices = question.choices?.length ? question.choices : points(question);
  const kind = question.kind ?? (isScale(choices) ? "scale" : "one");
  return {
    ...question,
    kind,
    choices,
    required: question.required ?? true,
    low_caption: question.low_caption ?? choices[0]?.hint ?? "",
    high_caption: question.high_caption ?? choices.at(-1)?.hint ?? "",
  };
}

/** @param {Question} question @returns {Choice[]} */
function points({ low, high }) {
  if (low === undefined || high === undefined) return [];
  return Array.from({ length: high - low + 1 }, (_, step) => ({ value: low + step, label: String(low + step) }));
}

/** Numbers in a row, each captioned by itself. @param {Choice[]} choices */
function isScale(choices) {
  return choices.length > 2 && choices.every(({ value, label }) => typeof value === "number" && label === String(value));
}

/** Letters of scripts with upper and lower case, which keyboards type directly without an input method. */
const TYPED = /[\p{Lu}\p{Ll}]/u;

/** Keys of the sides of a pair: 0 is neither, 3 is both bad. @type {Record<string, string>} */
const SIDES = { first: "1", second: "2", tied: "0", both_bad: "3" };

/**
 * A key for each choice: its digit or first letter where these differ, else its number in the row; "" beyond nine,
 * and for numbers of two digits beside those of one.
 *
 * @param {Choice[]} choices
 */
export function keysOf(choices) {
  if (choices.every(({ value }) => String(value) in SIDES)) return choices.map(({ value }) => SIDES[String(value)]);
  const firsts = choices.map(({ label }) => label.charAt(0).toUpperCase());
  const areClear = new Set(firsts).size === firsts.length;
  const areLetters = areClear && firsts.every((first) => TYPED.test(first));
  if (areLetters) return firsts;
  // On numbers a key answers what it says: on a scale from 0 to 10, the key 1 is not the first answer.
  const areNumbers = choices.every(({ label }) => /^\d+$/.test(label));
  if (areNumbers && choices.some(({ label }) => label.length === 1)) return choices.map(({ label }) => (label.length === 1 ? label : ""));
  return choices.map((_, index) => (index < 9 ? String(index + 1) : ""));
}

/**
 * @param {Question} question
 * @param {Answers} answers
 */
function isAsked({ asked_if }, answers) {
  if (!asked_if) return true;
  const values = asked_if.values ?? [/** @type {Value} */ (asked_if.value)];
  return [answers[asked_if.question]].flat().some((answer) => values.includes(/** @type {Value} */ (answer)));
}

/**
 * @template {Question} T
 * @param {T[]} questions
 * @param {Answers} answers
 */
export function askedQuestions(questions, answers) {
  return questions.filter((question) => isAsked(question, answers));
}

/**
 * The first asked question without an answer, if any.
 *
 * @param {Question[]} questions
 * @param {Answers} answers
 */
export function openQuestion(questions, answers) {
  return askedQuestions(questions, answers).find(({ key }) => !(key in answers)) ?? null;
}

/**
 * The answers with one more; answers to questions that are then no longer asked are dropped.
 *
 * @param {Question[]} questions
 * @param {Answers} answers
 * @param {string} key
 * @param {Answer} answer
 * @returns {Answers}
 */
export function withAnswer(questions, answers, key, answer) {
  const updated = { ...answers, [key]: answer };
  const remaining = askedQuestions(questions, updated).filter((question) => question.key in updated);
  return Object.fromEntries(remaining.map((question) => [question.key, updated[question.key]]));
}

/**
 * @param {Answer | undefined} one
 * @param {Answer | undefined} other
 */
export function isSame(one, other) {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/**
 * An answer in the words of its question.
 *
 * @param {Question} question
 * @param {Answer} answer
 * @returns {string}
 */
export function inWords({ choices }, answer) {
  const labels = [answer ?? []].flat().map((each) => choices.find(({ value }) => value === each)?.label ?? String(each));
  return labels.join(", ") || gettext("none");
}

/**
 * All answers in one line: "Sensible · Not specific".
 *
 * @param {Question[]} questions
 * @param {Answers} answers
 */
export function inShort(questions, answers) {
  const parts = askedQuestions(questions, answers).map((question) => briefly(question, answers[question.key] ?? null));
  return parts.filter(Boolean).join(" · ");
}

/**
 * @param {Question} question
 * @param {Answer} answer
 * @returns {string}
 */
function briefly({ key, short, choices }, answer) {
  if (answer === null) return "";
  const name = key.replaceAll("_", " ");
  if (short && (typeof answer === "boolean" || typeof answer === "number")) return `${short} ${labelOf(choices, answer)}`;
  if (typeof answer === "boolean") return answer ? capital(name) : capital(`not ${name}`);
  if (typeof answer === "number") return `${capital(name)}${numberInWords(choices, answer)}`;
  if (Array.isArray(answer)) return answer.map((each) => labelOf(choices, each)).join(", ") || `${short || capital(name)}: ${gettext("none")}`;
  return labelOf(choices, answer);
}

/** A number as it follows its name: ": Poor" if its choice is worded, else " 1". @param {Choice[]} choices @param {number} value */
function numberInWords(choices, value) {
  const isWorded = choices?.some((choice) => choice.value === value && choice.label !== String(value));
  return isWorded ? `: ${labelOf(choices, value)}` : ` ${value}`;
}

/**
 * @param {Choice[]} choices
 * @param {Value} value
 */
function labelOf(choices, value) {
  const text = choices?.find((choice) => choice.value === value)?.label ?? `“${value}”`;
  return text.length > 40 ? `${text.slice(0, 38)}…” ` : text;
}

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
