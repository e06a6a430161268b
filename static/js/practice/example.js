/** A worked example on the page, displayed like an item of the study. */

import { turn } from "../judge/item.js";
import { gettext } from "../kit/gettext.js";
import { showPair } from "../pairs/pair.js";

/**
 * @typedef {{name: string, is_own: boolean, text: string}} Utterance
 * @typedef {{key: string, set: number, about: string, context: Utterance[], text: string, name: string, other: string,
 *            answers: import("../kit/answers.js").Answers, why: string}} Example
 */

/** @param {Example} example */
function isPair({ other }) {
  return other !== "";
}

/** True if the context itself is judged. @param {Example} example */
function isContext({ text }) {
  return text === "";
}

/**
 * Show the example; return the elements of the last texts, and the number of characters.
 *
 * @param {HTMLElement} list
 * @param {Example} example
 * @param {string} language
 */
export function showExample(list, example, language) {
  const { context, text, other, name, about } = example;
  if (isPair(example)) {
    const sides = [{ texts: [text] }, { texts: [other] }];
    return showPair(list, { key: example.key, context: context.map((utterance) => utterance.text), sides, language });
  }
  const last = context.length - 1;
  const id = isContext(example) ? "judged" : "before";
  const turns = context.map((utterance, at) => turnOf(utterance, at === last ? id : ""));
  if (!isContext(example)) {
    const note = about === "dialogue" ? "" : gettext("Judge this");
    turns.push(turn(text, 0, { isOwn: true, id: "judged", note, names: [name] }));
  }
  list.lang = language;
  list.replaceChildren(...turns);
  scrollTo({ top: 0 });
  const end = /** @type {HTMLElement} */ (turns[turns.length - 1].querySelector(".turn__text"));
  return { ends: [end], length: [...context.map((utterance) => utterance.text), text].join("").length };
}

/** @param {Utterance} utterance @param {string} id */
function turnOf({ name, is_own: isOwn, text }, id) {
  return turn(text, 0, { isOwn: !isOwn, id, names: [name] });
}

/** Ids of what a question about the example refers to. @param {Example} example */
export function describesExample(example) {
  const judged = isPair(example) ? ["side-0", "side-1"] : ["judged"];
  const hasContext = example.context.length > 0 && !isContext(example);
  return [...(hasContext ? ["before"] : []), ...judged].join(" ");
}
