/** One item on the page: its context and the text to judge. */

import { make, textElement } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";

/**
 * @typedef {import("./store.js").Item} Item
 */

const SPEAKERS = [gettext("Speaker A"), gettext("Speaker B")];

/**
 * A turn. Speakers are not named as person or machine, which would bias the judgment.
 *
 * @param {string} text
 * @param {number} position
 * @param {{isOwn: boolean, id?: string, note?: string, names?: string[], html?: string | null}} how
 */
export function turn(text, position, { isOwn, id = "", note = "", names = SPEAKERS, html }) {
  const body = textElement(text, html, { ...(id && { id }) });
  const who = make("p", { class: "turn__who" }, names[position % 2]);
  if (note) who.append(make("strong", { class: "turn__note" }, note));
  const side = isOwn ? "turn--bot" : "turn--human";
  return make("li", { class: `turn ${side} ${note && "turn--judged"}` }, who, body);
}

/**
 * Show an item from its first line; return the element of its last text, and the number of characters.
 *
 * @param {HTMLElement} list
 * @param {Item} item
 */
export function showItem(list, { context, text = null, language, html }) {
  const last = context.length - 1;
  const turns = context.map((utterance, position) =>
    turn(utterance, position, {
      isOwn: (position - context.length) % 2 === 0,
      id: position === last ? "before" : "",
      html: html?.context[position],
    }),
  );
  if (text !== null) turns.push(turn(text, context.length, { isOwn: true, id: "judged", note: gettext("Judge this"), html: html?.text }));
  list.lang = language;
  list.replaceChildren(...turns);
  scrollTo({ top: 0 });
  const end = /** @type {HTMLElement} */ (turns[turns.length - 1].querySelector(".turn__text"));
  return { ends: [end], length: [...context, text ?? ""].join("").length };
}

/** Ids of the elements that a question about this item refers to. @param {Item} item */
export function describes({ context, text = null }) {
  return [context.length && "before", text !== null && "judged"].filter(Boolean).join(" ");
}
