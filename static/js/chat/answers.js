/**
 * Which questions are asked, given what was answered. Pure.
 *
 * @typedef {import("./store.js").Answers} Answers
 * @typedef {import("./store.js").Value} Value
 * @typedef {{value: Value, label: string, hint: string}} Choice
 * @typedef {{key: string, wording: string, help: string, choices: Choice[],
 *            asked_if: {question: string, value: Value} | null}} Question
 */

/**
 * A key for each choice: the first letters of the captions where these differ, else digits.
 *
 * @param {Choice[]} choices
 */
export function keysOf(choices) {
  const letters = choices.map(({ label }) => label.charAt(0).toUpperCase());
  const areClear = new Set(letters).size === letters.length && letters.every((letter) => /\p{L}/u.test(letter));
  return areClear ? letters : choices.map((_, index) => String(index + 1));
}

/**
 * @param {Question[]} questions
 * @param {Answers} answers
 */
export function askedQuestions(questions, answers) {
  return questions.filter(({ asked_if }) => !asked_if || answers[asked_if.question] === asked_if.value);
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
 * The answers after choosing one more; what is then no longer asked is dropped. So is what was not asked before:
 * the server fills in "not specific" for what made no sense, but nobody has said so.
 *
 * @param {Question[]} questions
 * @param {Answers} answers
 * @param {string} key
 * @param {Value} value
 * @returns {Answers}
 */
export function withAnswer(questions, answers, key, value) {
  const chosen = { ...answers, [key]: value };
  const given = new Set([key, ...askedQuestions(questions, answers).map((question) => question.key)]);
  const asked = askedQuestions(questions, chosen).filter(({ key: other }) => given.has(other) && other in chosen);
  return Object.fromEntries(asked.map((question) => [question.key, chosen[question.key]]));
}
