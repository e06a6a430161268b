/**
 * What somebody answered about an example beside what its author would have. Pure.
 *
 * @typedef {import("../kit/answers.js").Answer} Answer
 * @typedef {import("../kit/answers.js").Answers} Answers
 * @typedef {import("../kit/answers.js").FullQuestion} Question
 * @typedef {{question: Question, own: string, author: string, agrees: boolean}} Verdict
 */

import { inWords, isSame } from "../kit/answers.js";

/** On a scale a neighbour is as good: nobody feels the step. */
const NEAR = 1;

/**
 * The questions that both answered; words of one's own are beside each other, but not compared.
 *
 * @param {Question[]} questions
 * @param {Answers} own
 * @param {Answers} author
 * @returns {Verdict[]}
 */
export function verdicts(questions, own, author) {
  const both = questions.filter(({ key }) => isGiven(own[key]) && isGiven(author[key]));
  return both.map((question) => ({
    question,
    own: inWords(question, own[question.key]),
    author: inWords(question, author[question.key]),
    agrees: agrees(question, own[question.key], author[question.key]),
  }));
}

/** @param {Answer | undefined} answer */
function isGiven(answer) {
  return answer !== undefined && answer !== null;
}

/**
 * @param {Question} question
 * @param {Answer} own
 * @param {Answer} author
 */
function agrees({ kind }, own, author) {
  if (kind === "text") return true;
  if (kind === "scale") return Math.abs(Number(own) - Number(author)) <= NEAR;
  return isSame(own, author);
}
