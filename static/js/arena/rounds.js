/** The messages of a battle on the page, each with the replies of both sides beside each other. */

import { make, textElement } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";
import { GrowingText } from "../kit/growing_text.js";

/**
 * @typedef {{text: string, html: string | null}} Reply
 * @typedef {{key: string, text: string, replies: (Reply | null)[] | null}} Round
 *   replies: of the first and the second side; null until both are there, or where replies grow, null for one that is not there
 * @typedef {{side: number, stream: string, offset: number, text: string}} Growth
 *   stream: changes when a bot is asked once more
 */

export const NAMES = [gettext("First"), gettext("Second")];

/** A message of the worker. @param {string} text @param {string} [note] */
export function message(text, note = "") {
  const body = make("p", { class: "turn__text", dir: "auto" }, text);
  const mark = note ? [make("p", { class: "mark" }, note)] : [];
  return make("li", { class: "turn turn--human" }, make("p", { class: "turn__who" }, gettext("You")), body, ...mark);
}

/** @param {(Reply | null)[]} replies */
function sides(replies) {
  // Groups, not regions: every message has two, and landmarks of the same name cannot be told apart.
  const sections = replies.map((reply, number) =>
    make("div", { class: "side", role: "group", "aria-label": NAMES[number] }, make("h2", { class: "side__name" }, NAMES[number]), reply ? textElement(reply.text, reply.html) : growing()),
  );
  return make("li", { class: "sides" }, ...sections);
}

/** Place of a reply that is not there yet. A screen reader hears the reply once, when it is complete. */
function growing() {
  return make("p", { class: "turn__text is-growing", dir: "auto", "aria-busy": "true", "aria-live": "off" });
}

export class Rounds {
  /** @param {HTMLElement} list */
  constructor(list) {
    this.list = list;
    /** Texts so far of the newest replies, by side. @type {Map<number, {stream: string, text: GrowingText}>} */
    this.growing = new Map();
  }

  /**
   * Show these rounds. Only new elements are added, so that a screen reader announces them alone. A complete reply
   * takes the place of the one that grew.
   *
   * @param {number} battle
   * @param {Round[]} rounds
   * @returns {"added" | "completed" | ""} what has changed
   */
  show(battle, rounds) {
    if (this.list.dataset.battle !== String(battle)) {
      this.list.replaceChildren();
      this.list.dataset.battle = String(battle);
    }
    const parts = rounds.flatMap(({ text, replies }) => [() => message(text), ...(replies ? [() => sides(replies)] : [])]);
    const missing = parts.slice(this.list.children.length);
    if (missing.length) this.growing.clear();
    this.list.append(...missing.map((part) => part()));
    const isCompleted = this.complete(rounds.at(-1)?.replies ?? []);
    return missing.length ? "added" : isCompleted ? "completed" : "";
  }

  /** Replace texts that grew by the replies; true if there was one. @param {(Reply | null)[]} replies */
  complete(replies) {
    const grown = [...this.last.querySelectorAll(".is-growing")].filter((each) => replies[this.sideOf(each)]);
    for (const each of grown) {
      const side = this.sideOf(each);
      const { text, html } = /** @type {Reply} */ (replies[side]);
      this.growing.delete(side);
      each.replaceWith(textElement(text, html));
    }
    return grown.length > 0;
  }

  /** Show a part of a reply that grows. @param {Growth} growth */
  grow({ side, stream, offset, text }) {
    const place = [...this.last.querySelectorAll(".is-growing")].find((each) => this.sideOf(each) === side);
    if (!place) return; // it is complete
    let known = this.growing.get(side);
    if (known?.stream !== stream) {
      known = { stream, text: new GrowingText() };
      this.growing.set(side, known);
      place.replaceChildren(known.text.node);
    }
    known.text.take({ offset, text });
  }

  /** Names of the sides whose newest reply is not complete. @returns {string[]} */
  get writing() {
    return [...this.last.querySelectorAll(".is-growing")].map((each) => NAMES[this.sideOf(each)]);
  }

  /** @param {Element} element */
  sideOf(element) {
    const section = element.closest(".side");
    return section ? [...(section.parentElement?.children ?? [])].indexOf(section) : -1;
  }

  /** The newest element. @returns {Element} */
  get last() {
    return this.list.lastElementChild ?? this.list;
  }

  /** The texts of the last replies of both sides; none while one grows. @returns {HTMLElement[]} */
  get ends() {
    const last = [...this.list.querySelectorAll(".sides")].at(-1);
    if (!last || last.querySelector(".is-growing")) return [];
    return [...last.querySelectorAll(".turn__text")].map((each) => /** @type {HTMLElement} */ (each));
  }
}
