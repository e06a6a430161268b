/** The reading material: a column on wide screens, else a drawer; with a search. */

import { byId, make, setText } from "./dom.js";
import { gettext } from "./gettext.js";

const WIDE = matchMedia("(min-width: 64rem) and (min-height: 30.01rem)");

export class Reading {
  constructor() {
    this.column = byId("reading");
    this.all = byId("reading-all");
    this.texts = byId("reading-texts");
    this.own = byId("reading-own");
    this.nav = byId("reading-index");
    this.status = byId("found");
    /** @type {HTMLInputElement} */
    this.box = byId("find");
    /** @type {HTMLDialogElement} */
    this.drawer = byId("reading-drawer");
    /** @type {HTMLElement[]} */
    this.marks = [];
    this.here = 0;
    byId("open-reading").addEventListener("click", () => this.open());
    byId("close-reading").addEventListener("click", () => this.drawer.close());
    this.drawer.addEventListener("click", ({ target }) => target === this.drawer && this.drawer.close());
    this.box.addEventListener("input", () => this.find(this.box.value.trim()));
    this.box.addEventListener("keydown", (event) => this.onKeyDown(event));
    this.texts.addEventListener("scroll", () => this.showPlace(), { passive: true });
    WIDE.addEventListener("change", () => this.place());
    this.place();
    this.list();
  }

  /** Show the material of the current item, above that of all items. @param {string} html  as the server has rendered it */
  show(html) {
    this.find("");
    this.own.innerHTML = html;
    this.box.value = "";
    this.texts.scrollTop = 0;
    this.list();
    const isThere = this.sections.length > 0;
    document.body.classList.toggle("with-reading", isThere);
    byId("open-reading").hidden = !isThere;
  }

  /** @returns {HTMLElement[]} */
  get sections() {
    return [...this.texts.querySelectorAll("section")];
  }

  /** @returns {HTMLButtonElement[]} */
  get index() {
    return [...this.nav.querySelectorAll("button")];
  }

  /** A button for each text, if there are several. */
  list() {
    const buttons = this.sections.map(({ id, dataset }) => {
      const button = make("button", { type: "button", "data-to": id }, dataset.title ?? "");
      button.addEventListener("click", () => this.goTo(id));
      return button;
    });
    this.nav.replaceChildren(...buttons);
    this.nav.hidden = buttons.length < 2;
    this.showPlace();
  }

  /** Move the material into the column, or into the modal drawer. */
  place() {
    const { scrollTop } = this.texts;
    if (WIDE.matches) this.drawer.close();
    (WIDE.matches ? this.column : this.drawer).append(this.all);
    this.texts.scrollTop = scrollTop;
  }

  open() {
    this.drawer.showModal();
    this.showPlace();
  }

  /** @param {string} id */
  goTo(id) {
    const section = byId(id);
    section.scrollIntoView({ block: "start" });
    section.focus({ preventScroll: true });
    this.showPlace();
  }

  /** Mark the text that is being read in the index. */
  showPlace() {
    const { scrollTop, clientHeight, scrollHeight } = this.texts;
    const isAtEnd = scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 40;
    const isAll = scrollHeight <= clientHeight;
    const begun = this.index.filter(({ dataset }) => byId(dataset.to ?? "").offsetTop <= scrollTop + clientHeight / 3);
    const current = isAtEnd ? this.index.at(-1) : ((isAll ? null : begun.at(-1)) ?? this.index[0]);
    for (const button of this.index) button.setAttribute("aria-current", String(button === current));
  }

  /** @param {KeyboardEvent} event */
  onKeyDown(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.step(event.shiftKey ? -1 : 1);
    }
    if (event.key === "Escape" && this.box.value) {
      event.preventDefault();
      event.stopPropagation(); // elsewhere it goes to the message
      this.box.value = "";
      this.find("");
    }
  }

  /** @param {string} words */
  find(words) {
    this.forget();
    if (words.length > 1) this.mark(words.toLowerCase());
    this.here = -1;
    if (this.marks.length) this.step(1);
    else setText(this.status, words.length > 1 ? gettext("Not found") : "");
  }

  forget() {
    for (const mark of this.marks) mark.replaceWith(mark.textContent ?? "");
    if (this.marks.length) this.texts.normalize();
    this.marks = [];
  }

  /** @param {string} words */
  mark(words) {
    const walker = document.createTreeWalker(this.texts, NodeFilter.SHOW_TEXT);
    /** @type {Text[]} */
    const nodes = [];
    while (walker.nextNode()) nodes.push(/** @type {Text} */ (walker.currentNode));
    for (const node of nodes) {
      let rest = node;
      for (let at = placeIn(rest, words); at >= 0; at = placeIn(rest, words)) {
        const hit = rest.splitText(at);
        rest = hit.splitText(words.length);
        const mark = make("mark", {}, hit.data);
        hit.replaceWith(mark);
        this.marks.push(mark);
      }
    }
  }

  /** Go to the next match, or with -1 to the previous one. @param {number} by */
  step(by) {
    const { length } = this.marks;
    if (!length) return;
    this.here = (this.here + by + length) % length;
    for (const [n, mark] of this.marks.entries()) mark.classList.toggle("is-here", n === this.here);
    this.marks[this.here]?.scrollIntoView({ block: "center" });
    setText(this.status, gettext("%(n)s of %(all)s. Enter: next", { n: this.here + 1, all: length }));
  }
}

/** @param {Text} node @param {string} words */
function placeIn(node, words) {
  const folded = node.data.toLowerCase();
  return folded.length === node.data.length ? folded.indexOf(words) : node.data.indexOf(words);
}
