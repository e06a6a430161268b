/** A worked example on the page, as what is judged in the study looks. */

import { turn } from "../judge/item.js";
import { gettext } from "../kit/gettext.js";
import { showPair } from "../pairs/pair.js";

/**
 * @typedef {{name: string, is_own: boolean, text: string}} Said
 * @typedef {{key: string, set: number, about: string, context: Said[], text: string, name: string, other: string,
 *            answers: import("../kit/answers.js").Answers, why: string}} Example
 */

/** @param {Example} example */
function isPair({ other }) {
  return other !== "";
}

/** Whether what was said before is itself judged. @param {Example} example */
function isContext({ text }) {
  return text === "";
}

/**
 * The elements of the texts that are read last, and how much there is to read.
 *
 * @param {HTMLElement} list
 * @param {Example} example
 * @param {string} language
 */
export function showExample(list, example, language) {
  const { context, text, other, name, about } = example;
  if (isPair(example)) {
    const sides = [{ texts: [text] }, { texts: [other] }];
    return showPair(list, { key: example.key, context: context.map((said) => said.text), sides, language });
  }
  const last = context.length - 1;
  const id = isContext(example) ? "judged" : "before";
  const turns = context.map((said, at) => turnOf(said, at === last ? id : ""));
  if (!isContext(example)) {
    const note = about === "dialogue" ? "" : gettext("Judge this");
    turns.push(turn(text, 0, { isOwn: true, id: "judged", note, names: [name] }));
  }
  list.lang = language;
  list.replaceChildren(...turns);
  scrollTo({ top: 0 });
  const end = /** @type {HTMLElement} */ (turns[turns.length - 1].querySelector(".turn__text"));
  return { ends: [end], length: [...context.map((said) => said.text), text].join("").length };
}

/** @param {Said} said @param {string} id */
function turnOf({ name, is_own: isOwn, text }, id) {
  return turn(text, 0, { isOwn: !isOwn, id, names: [name] });
}

/** Ids of what a question about the example refers to. @param {Example} example */
export function describesExample(example) {
  const judged = isPair(example) ? ["side-0", "side-1"] : ["judged"];
  const isApart = example.context.length > 0 && !isContext(example);
  return [...(isApart ? ["before"] : []), ...judged].join(" ");
}
