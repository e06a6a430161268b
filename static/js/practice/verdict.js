/**
 * Comparison of a worker's answers about an example with its author's. Pure.
 *
 * @typedef {import("../kit/answers.js").Answer} Answer
 * @typedef {import("../kit/answers.js").Answers} Answers
 * @typedef {import("../kit/answers.js").FullQuestion} Question
 * @typedef {{question: Question, own: string, author: string, agrees: boolean}} Verdict
 */

import { inWords, isSame } from "../kit/answers.js";

/** Greatest difference on a scale that still counts as agreement. */
const NEAR = 1;

/**
 * Verdicts on the questions that both answered; free texts are not compared.
 *
 * @param {Question[]} questions
 * @param {Answers} workerAnswers
 * @param {Answers} authorAnswers
 * @returns {Verdict[]}
 */
export function verdicts(questions, workerAnswers, authorAnswers) {
  const both = questions.filter(({ key }) => isGiven(workerAnswers[key]) && isGiven(authorAnswers[key]));
  return both.map((question) => ({
    question,
    own: inWords(question, workerAnswers[question.key]),
    author: inWords(question, authorAnswers[question.key]),
    agrees: agrees(question, workerAnswers[question.key], authorAnswers[question.key]),
  }));
}

/** @param {Answer | undefined} answer */
function isGiven(answer) {
  return answer !== undefined && answer !== null;
}

/**
 * @param {Question} question
 * @param {Answer} answer
 * @param {Answer} authorAnswer
 */
function agrees({ kind }, answer, authorAnswer) {
  if (kind === "text") return true;
  if (kind === "scale") return Math.abs(Number(answer) - Number(authorAnswer)) <= NEAR;
  return isSame(answer, authorAnswer);
}
