/** The conversations of an operator, longest wait first. */

import { make, setText } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";

/**
 * @typedef {{id: string, name: number, study: string, turns: number, waits: boolean, held: boolean, since: string,
 *            said: string, mine: boolean, free: boolean, operator: string}} Conversation
 * @typedef {{item: HTMLLIElement, button: HTMLButtonElement, name: HTMLElement, time: HTMLElement, said: HTMLElement, state: HTMLElement}} Row
 */

export class Queue {
  /**
   * @param {HTMLElement} list
   * @param {(id: string) => void} onOpen
   */
  constructor(list, onOpen) {
    this.list = list;
    this.onOpen = onOpen;
    /** @type {Conversation[]} */
    this.all = [];
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** Number of turns seen here, by conversation. @type {Map<string, number>} */
    this.seen = new Map();
    this.ahead = 0;
  }

  /** @param {Conversation[]} conversations @param {string} now  the server's time */
  take(conversations, now) {
    this.all = conversations;
    this.ahead = Date.parse(now) - Date.now();
  }

  /** Mark a conversation as answered until the next list arrives. @param {string} id */
  markAnswered(id) {
    const conversation = this.of(id);
    if (conversation) Object.assign(conversation, { waits: false, held: true });
  }

  /** Conversations that wait for this operator. */
  get waiting() {
    return this.all.filter(({ waits, mine, free }) => waits && (mine || free));
  }

  /** @param {string} id */
  of(id) {
    return this.all.find((each) => each.id === id);
  }

  /** @param {string | null} opened */
  render(opened) {
    const ids = new Set(this.all.map(({ id }) => id));
    for (const [id, { item }] of this.rows) {
      if (ids.has(id)) continue;
      item.remove();
      this.rows.delete(id);
    }
    this.all.forEach((each, at) => {
      const row = this.rowOf(each.id);
      if (this.list.children[at] !== row.item) this.list.insertBefore(row.item, this.list.children[at] ?? null);
      if (each.id === opened) this.seen.set(each.id, each.turns);
      row.button.setAttribute("aria-current", String(each.id === opened));
      row.item.className = `queue__item${each.waits ? " is-waiting" : ""}${this.isNew(each) ? " is-new" : ""}`;
      setText(row.name, gettext("Conversation %(number)s", { number: each.name }));
      setText(row.said, each.said);
      setText(row.state, this.stateOf(each));
    });
    this.tick();
  }

  /** @param {Conversation} conversation */
  isNew({ id, turns, waits }) {
    return waits && (this.seen.get(id) ?? 0) < turns;
  }

  /** @param {Conversation} conversation */
  stateOf(conversation) {
    const { waits, held, mine, free, operator } = conversation;
    if (!mine && !free) return gettext("with %(operator)s", { operator });
    if (!mine) return operator ? gettext("%(operator)s is away: take it over", { operator }) : gettext("nobody's yet: take it over");
    if (held) return gettext("your reply is on its way");
    if (waits) return this.isNew(conversation) ? gettext("new message") : gettext("waits for you");
    return gettext("their turn");
  }

  tick() {
    for (const { id, since } of this.all) {
      const row = this.rows.get(id);
      if (row) setText(row.time, inWords((Date.now() + this.ahead - Date.parse(since)) / 1000));
    }
  }

  /** @param {string} id */
  rowOf(id) {
    const existing = this.rows.get(id);
    if (existing) return existing;
    const [name, time, said, state] = ["name", "time", "said", "state"].map((part) => make("span", { class: `queue__${part}` }));
    said.setAttribute("dir", "auto");
    const button = make("button", { type: "button", class: "queue__button" }, name, " ", time, " ", said, " ", state);
    button.addEventListener("click", () => this.onOpen(id));
    const row = { item: make("li", {}, button), button, name, time, said, state };
    this.rows.set(id, row);
    return row;
  }
}

/** @param {number} seconds */
function inWords(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
