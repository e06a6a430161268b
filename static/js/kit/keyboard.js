/** Single keys for answers, and Esc to move between message and question. */

import { KeyReader, onButtons } from "./keys.js";

const SWITCH = "turnwise:single-keys";

/**
 * @typedef {object} Page
 * @property {() => HTMLElement | null} openGroup  of the question that waits for an answer
 * @property {() => boolean} mayAnswer  whether it has been on screen for long enough, with what it is about
 * @property {() => void} early  called for a key that came too early
 * @property {() => void} takeBack  undoes the answer of the last key
 * @property {((text: string) => void) | null} takeText  receives typed text; further keys follow it
 * @property {(isInText: boolean) => void} escape
 * @property {Pick<Storage, "getItem" | "setItem">} storage
 * @property {HTMLInputElement} toggle
 */

/** @param {EventTarget | null} target */
function takesText(target) {
  return target instanceof Element && target.matches("textarea, select, input:not([type=checkbox]), [contenteditable]");
}

/** Space presses what has the focus, or scrolls the page. @param {KeyboardEvent} event */
function isForTheBrowser({ key, target }) {
  const isControl = target instanceof Element && target.matches("button, summary, a, input");
  return key === " " && (isControl || target === document.body);
}

/**
 * The button in this group with the key on it.
 *
 * @param {Element | null} group
 * @param {string} key
 * @returns {HTMLButtonElement | null}
 */
function buttonFor(group, key) {
  const buttons = group?.querySelectorAll("button[aria-keyshortcuts]") ?? [];
  const match = [...buttons].find((button) => button.getAttribute("aria-keyshortcuts") === onButtons(key));
  return /** @type {HTMLButtonElement | null} */ (match ?? null);
}

/** True if the element is neither scrolled out of view nor behind the message box. @param {Element} element */
function isInSight(element) {
  const { left, top, height } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(left + 1, top + height / 2));
}

class Keyboard {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.reader = new KeyReader();
    /** The key that answered and is still down; its repetitions are not text. @type {string | null} */
    this.down = null;
  }


  /** @param {KeyboardEvent} event */
  onKeyDown(event) {
    if (event.repeat) return void (event.key === this.down && event.preventDefault());
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    this.down = null;
    if (event.key === "Escape") return this.page.escape(takesText(event.target));
    if (event.key.length !== 1) return this.reader.pass(event.timeStamp);
    const isFree = !takesText(event.target) && !isForTheBrowser(event) && this.page.toggle.checked;
    if (isFree || this.reader.mayTakeBack(event.timeStamp)) this.read(event, isFree);
    else this.reader.pass(event.timeStamp);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {boolean} isFree  no field takes the key
   */
  read(event, isFree) {
    const group = this.page.openGroup();
    const button = isFree ? buttonFor(group, event.key) : null;
    const mayAnswer = group !== null && isInSight(group) && this.page.mayAnswer();
    if (button && mayAnswer && group?.dataset.kind === "several") return this.toggle(button, event);
    const meaning = this.reader.read(event.key, { isChoice: button !== null, mayAnswer, at: event.timeStamp });
    if (meaning.kind === "text") return this.typed(meaning.text, meaning.takesBack);
    event.preventDefault();
    if (meaning.kind === "early") return this.page.early(); // the text has not been read to its end
    this.down = event.key;
    button?.click();
  }

  /** Of several answers nothing is stored before the last step. @param {HTMLElement} button @param {KeyboardEvent} event */
  toggle(button, event) {
    event.preventDefault();
    this.reader.pass(event.timeStamp);
    button.click();
  }

  /**
   * @param {string} text
   * @param {boolean} takesBack
   */
  typed(text, takesBack) {
    if (takesBack) this.page.takeBack();
    this.page.takeText?.(text);
  }
}

/** @param {Page} page */
export function listenToKeys(page) {
  const { toggle, storage } = page;
  // WCAG 2.1.4: single keys can be turned off, for people who dictate.
  toggle.checked = storage.getItem(SWITCH) !== "off";
  toggle.addEventListener("change", () => storage.setItem(SWITCH, toggle.checked ? "on" : "off"));
  const keyboard = new Keyboard(page);
  document.addEventListener("keydown", (event) => keyboard.onKeyDown(event));
}
