/** The messages of a battle on the page, each with the replies of both sides beside each other. */

import { make, textElement } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";

/**
 * @typedef {{text: string, html: string | null}} Reply
 * @typedef {{key: string, text: string, replies: Reply[] | null}} Round  replies: of the first and the second side; null until both are there
 */

export const NAMES = [gettext("First"), gettext("Second")];

/** A message of the worker. @param {string} text @param {string} [note] */
export function message(text, note = "") {
  const body = make("p", { class: "turn__text", dir: "auto" }, text);
  const mark = note ? [make("p", { class: "mark" }, note)] : [];
  return make("li", { class: "turn turn--human" }, make("p", { class: "turn__who" }, gettext("You")), body, ...mark);
}

/** @param {Reply[]} replies */
function sides(replies) {
  // Groups, not regions: every message has two, and landmarks of the same name cannot be told apart.
  const sections = replies.map(({ text, html }, number) =>
    make("div", { class: "side", role: "group", "aria-label": NAMES[number] }, make("h2", { class: "side__name" }, NAMES[number]), textElement(text, html)),
  );
  return make("li", { class: "sides" }, ...sections);
}

export class Rounds {
  /** @param {HTMLElement} list */
  constructor(list) {
    this.list = list;
    this.shown = "";
  }

  /**
   * Show these rounds. Only new elements are added, so that a screen reader announces them alone.
   *
   * @param {number} battle
   * @param {Round[]} rounds
   * @returns {boolean} true if something was added
   */
  show(battle, rounds) {
    if (this.list.dataset.battle !== String(battle)) {
      this.list.replaceChildren();
      this.list.dataset.battle = String(battle);
    }
    const parts = rounds.flatMap(({ text, replies }) => [() => message(text), ...(replies ? [() => sides(replies)] : [])]);
    const missing = parts.slice(this.list.children.length);
    this.list.append(...missing.map((part) => part()));
    return missing.length > 0;
  }

  /** The texts of the last replies of both sides. @returns {HTMLElement[]} */
  get ends() {
    const last = [...this.list.querySelectorAll(".sides")].at(-1);
    return last ? [...last.querySelectorAll(".turn__text")].map((each) => /** @type {HTMLElement} */ (each)) : [];
  }
}
