/** A pair on the page: its context, and two sides, which are responses or whole conversations. */

import { turn } from "../judge/item.js";
import { make, textElement } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";

/**
 * @typedef {import("../judge/store.js").Item} Item
 * @typedef {import("../judge/store.js").Side} Side
 */

const NAMES = [gettext("First"), gettext("Second")];

/**
 * The texts of a side, one to be read after the other. Of a response the side's own name says who speaks; of a
 * conversation the one who is judged has it, and the other is their partner.
 *
 * @param {Side} side
 * @param {number} number
 * @param {string[]} [html]  the texts formatted
 */
function texts({ texts: utterances, speaker }, number, html = []) {
  if (speaker === undefined) return [textElement(utterances[0], html[0])];
  const names = speaker === null ? undefined : [0, 1].map((seat) => (seat === speaker ? NAMES[number] : gettext("Partner")));
  const turns = utterances.map((text, position) => turn(text, position, { isOwn: position % 2 === (speaker ?? 1), names, html: html[position] }));
  return [make("ol", { class: "turns", role: "list" }, ...turns)];
}

/**
 * @param {HTMLElement} list
 * @param {Item} item
 */
export function showPair(list, { context, sides = [], language, html }) {
  const before = context.map((utterance, position) =>
    turn(utterance, position, {
      isOwn: (position - context.length) % 2 === 0,
      id: position === context.length - 1 ? "before" : "",
      html: html?.context[position],
    }),
  );
  const sections = sides.map((side, number) =>
    make("section", { class: "side", id: `side-${number}`, "aria-labelledby": `side-${number}-name` },
      make("h2", { class: "side__name", id: `side-${number}-name` }, NAMES[number]), ...texts(side, number, html?.sides[number])),
  );
  list.lang = language;
  list.replaceChildren(...before, make("li", { class: "sides" }, ...sections));
  scrollTo({ top: 0 });
  const ends = sections.map((side) => /** @type {HTMLElement} */ ([...side.querySelectorAll(".turn__text")].at(-1)));
  return { ends, length: [...context, ...sides.flatMap((side) => side.texts)].join("").length };
}

/** Short texts are read out with the question; of conversations their names are. @param {Item} item */
export function describesPair({ context, sides = [] }) {
  const names = sides.map(({ speaker }, number) => (speaker === undefined ? `side-${number}` : `side-${number}-name`));
  return [context.length && "before", ...names].filter(Boolean).join(" ");
}
