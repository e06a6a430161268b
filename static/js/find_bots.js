/**
 * Searches bots by a part of their title or name, for lists that are too long to show all. Arrow keys select a match,
 * Enter takes it, Escape closes the search. A taken bot joins the list: as an option, a ticked box, or a row.
 */

import { make } from "./kit/dom.js";
import { gettext, ngettext } from "./kit/gettext.js";

const PAUSE_MS = 150;

/** @typedef {{ pk: number, name: string, title: string, formatted: boolean }} Bot */

class Finder {
  /** @param {HTMLElement} box */
  constructor(box) {
    const part = (/** @type {string} */ selector) => /** @type {HTMLElement} */ (box.querySelector(selector));
    this.data = box.dataset;
    this.input = /** @type {HTMLInputElement} */ (part("input"));
    this.matches = part("ul");
    this.says = part("[role=status]");
    this.requests = 0;
    this.input.addEventListener("input", () => this.ask());
    box.addEventListener("keydown", (event) => this.walk(event));
    this.ask(); // for text typed before the script had loaded
  }

  /** Search after a pause in typing; only the newest answer counts. */
  async ask() {
    const number = ++this.requests;
    const sought = this.input.value.trim();
    if (!sought) return this.show([], "");
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    if (number !== this.requests) return;
    try {
      const url = new URL(this.data.url ?? "", location.href);
      url.searchParams.set("find", sought);
      const body = await (await fetch(url)).json();
      if (number === this.requests) this.showMatches(sought, body);
    } catch {
      this.show([], gettext("The search does not answer. Write the name as it appears in the list of bots."));
    }
  }

  /**
   * @param {string} sought
   * @param {{ bots: Bot[], unlisted: number, error?: string }} body
   */
  showMatches(sought, { bots, unlisted, error }) {
    if (error) return this.show([], error);
    if (!bots.length) return this.show([], gettext("No bot is called “%(sought)s”.", { sought }));
    const more = unlisted ? " " + ngettext("%(n)s more matches; write more of its name.", "%(n)s more match; write more of the name.", unlisted) : "";
    this.show(bots, ngettext("%(n)s bot found.", "%(n)s bots found.", bots.length) + more);
  }

  /**
   * @param {Bot[]} bots
   * @param {string} words
   */
  show(bots, words) {
    this.matches.replaceChildren(...bots.map((bot) => this.offer(bot)));
    this.matches.hidden = !bots.length;
    this.says.textContent = words;
  }

  /** @param {Bot} bot */
  offer(bot) {
    const button = make("button", { type: "button" }, bot.title, " ", make("span", { class: "find-bots__name" }, bot.name));
    button.addEventListener("click", () => this.take(bot));
    return make("li", {}, button);
  }

  /** @param {KeyboardEvent} event */
  walk(event) {
    const buttons = [...this.matches.querySelectorAll("button")];
    const at = buttons.findIndex((button) => button === event.target);
    if (event.key === "ArrowDown") buttons[Math.min(at + 1, buttons.length - 1)]?.focus();
    else if (event.key === "ArrowUp") (buttons[at - 1] ?? this.input).focus();
    else if (event.key === "Escape") this.clear();
    else if (event.key === "Enter" && at < 0) buttons[0]?.click();
    else return;
    event.preventDefault();
  }

  clear() {
    this.requests += 1;
    this.input.value = "";
    this.show([], "");
    this.input.focus();
  }

  /** @param {Bot} bot */
  take(bot) {
    const list = /** @type {HTMLElement} */ (document.getElementById(this.data.into ?? ""));
    const value = String(this.data.takes === "pk" ? bot.pk : bot.name);
    if (list instanceof HTMLSelectElement) choose(list, value, bot);
    else tick(this.ticked(list, value) ?? this.added(list, value, bot));
    this.clear();
    this.says.textContent = gettext("%(title)s is chosen.", { title: bot.title });
  }

  /**
   * The checkbox of a bot that is already listed.
   *
   * @param {HTMLElement} list
   * @param {string} value
   */
  ticked(list, value) {
    if (this.data.pattern) {
      const row = [...list.querySelectorAll(".bot-row")].find((each) => each.querySelector("input")?.value === value);
      return row?.querySelector("input[type=checkbox]");
    }
    const boxes = [.../** @type {HTMLElement} */ (list.closest("fieldset")).querySelectorAll("input[type=checkbox]")];
    return boxes.find((each) => each instanceof HTMLInputElement && each.value.split("@")[0] === value);
  }

  /**
   * @param {HTMLElement} list
   * @param {string} value
   * @param {Bot} bot
   */
  added(list, value, bot) {
    if (this.data.pattern) return this.addedRow(list, value, bot);
    const id = `${list.id}-${bot.name}`;
    const box = make("input", { type: "checkbox", name: this.data.name ?? "", value, id });
    list.append(make("li", { class: "field__check" }, box, make("label", { for: id }, bot.title)));
    return box;
  }

  /**
   * @param {HTMLElement} list
   * @param {string} value
   * @param {Bot} bot
   */
  addedRow(list, value, bot) {
    const pattern = /** @type {HTMLTemplateElement} */ (document.getElementById(this.data.pattern ?? ""));
    const total = /** @type {HTMLInputElement} */ (document.getElementById(`id_${this.data.name}-TOTAL_FORMS`));
    const row = /** @type {HTMLElement} */ (pattern.content.cloneNode(true)).firstElementChild;
    for (const each of row?.querySelectorAll("*") ?? []) {
      for (const attribute of each.attributes) attribute.value = attribute.value.replace("__prefix__", total.value);
      if (each.childElementCount === 0) each.textContent = (each.textContent ?? "").replace("__title__", bot.title);
    }
    const key = row?.querySelector("input");
    if (!row || !key) throw new Error("The pattern of a row has no field for its bot.");
    key.value = value;
    total.value = String(Number(total.value) + 1);
    row.setAttribute("data-formatted", String(bot.formatted));
    list.append(row);
    return row.querySelector("input[type=checkbox]");
  }
}

/**
 * @param {HTMLSelectElement} list
 * @param {string} value
 * @param {Bot} bot
 */
function choose(list, value, bot) {
  const existing = [...list.options].find((option) => option.value.split("@")[0] === value);
  if (existing) existing.selected = true;
  else list.add(new Option(bot.title, value, true, true));
}

/** @param {Element | null | undefined} box */
function tick(box) {
  if (!(box instanceof HTMLInputElement)) return;
  box.checked = true;
  box.dispatchEvent(new Event("input", { bubbles: true })); // for scripts that compute from the form
}

for (const box of document.querySelectorAll(".find-bots")) if (box instanceof HTMLElement) new Finder(box);
