/** One item on the page: what was said before, what is judged, and the questions about it. */

import { make } from "../chat/dom.js";
import { Questions } from "../chat/questions.js";

/**
 * @typedef {import("./store.js").Item} Item
 * @typedef {import("../chat/answers.js").Question} Question
 * @typedef {import("../chat/questions.js").OnAnswer} OnAnswer
 */

const SPEAKERS = ["Speaker A", "Speaker B"];

/**
 * Who is a person and who a machine is not said: that would sway the judgment.
 *
 * @param {string} text
 * @param {number} position
 * @param {{isOwn: boolean, id?: string, note?: string}} how
 */
function turn(text, position, { isOwn, id = "", note = "" }) {
  const shown = make("p", { class: "turn__text", dir: "auto", ...(id && { id }) }, text);
  const who = make("p", { class: "turn__who" }, SPEAKERS[position % 2]);
  if (note) who.append(make("strong", { class: "turn__note" }, note));
  const side = isOwn ? "turn--bot" : "turn--human";
  return make("li", { class: `turn ${side} ${note && "turn--judged"}` }, who, shown);
}

export class ItemView {
  /**
   * @param {HTMLElement} list  gets the turns
   * @param {HTMLElement} place  gets the questions
   * @param {Item} item
   * @param {Question[]} questions
   * @param {OnAnswer} onAnswer
   */
  constructor(list, place, item, questions, onAnswer) {
    const { context, text } = item;
    const last = context.length - 1;
    const turns = context.map((said, position) =>
      turn(said, position, {
        isOwn: (position - context.length) % 2 === 0,
        id: position === last ? "before" : "",
      }),
    );
    if (text !== null) turns.push(turn(text, context.length, { isOwn: true, id: "judged", note: "Judge this" }));
    list.lang = item.language;
    list.replaceChildren(...turns);
    const described = [last >= 0 && "before", text !== null && "judged"].filter(Boolean).join(" ");
    this.questions = new Questions(questions, described, onAnswer);
    place.replaceChildren(this.questions.element);
  }

  /** @param {string} key */
  group(key) {
    return this.questions.fieldsets.get(key) ?? null;
  }
}
