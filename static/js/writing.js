/** The page on which people write: keeps the draft in this browser, and sends on Enter without leaving the page. */

import { make } from "./kit/dom.js";

const RETRY_MS = 3000;
const PREFIX = "turnwise.writing.";

/** Storage may be switched off or full; then the page works without a draft. @param {() => void} act */
function quietly(act) {
  try {
    act();
  } catch {
    /* nothing to keep it in */
  }
}

/** One conversation and the box for what is said next. */
class Task {
  /** @param {HTMLElement} place  everything that changes with the conversation */
  constructor(place) {
    this.place = place;
    this.form = /** @type {HTMLFormElement} */ (place.querySelector("form"));
    this.box = /** @type {HTMLTextAreaElement} */ (this.form.elements.namedItem("text"));
    this.button = /** @type {HTMLButtonElement} */ (this.form.querySelector("button"));
    this.key = PREFIX + this.form.dataset.draft;
    this.isSending = false;
    quietly(() => this.restore());
    quietly(() => this.forgetOthers());
    this.showCount();
    this.box.addEventListener("input", () => this.changed());
    this.box.addEventListener("keydown", (event) => this.pressed(event));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.box.focus();
  }

  /** What was typed last, which may be newer than what the server refused and gave back. */
  restore() {
    this.box.value = localStorage.getItem(this.key) ?? this.box.value;
    this.box.setSelectionRange(this.box.value.length, this.box.value.length);
  }

  /** Drafts of responses that were sent are of no use any more. */
  forgetOthers() {
    for (const known of Object.keys(localStorage)) {
      if (known.startsWith(PREFIX) && known !== this.key) localStorage.removeItem(known);
    }
  }

  changed() {
    this.showCount();
    quietly(() => localStorage.setItem(this.key, this.box.value));
  }

  /** The browser cuts off what is longer, of a pasted text too. */
  showCount() {
    const { value, maxLength } = this.box;
    const isFull = value.length >= maxLength;
    const said = `${value.length} of at most ${maxLength} characters${isFull ? ": what is longer is cut off" : ""}`;
    const count = /** @type {HTMLElement} */ (this.place.querySelector("#count"));
    count.textContent = value.length > 0.9 * maxLength ? said : "";
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    // While an input method composes a character, Enter chooses it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.form.requestSubmit();
  }

  /** Send it, again and again until the server has answered: the same response sent twice is stored once. */
  async send() {
    if (this.isSending) return;
    this.isSending = true;
    this.box.readOnly = true;
    this.button.setAttribute("aria-disabled", "true");
    const body = new FormData(this.form);
    for (;;) {
      const response = await fetch(location.href, { method: "POST", body }).catch(() => null);
      if (response && response.status < 500) return this.next(response);
      this.showWaiting();
      await nextTry();
    }
  }

  showWaiting() {
    if (this.place.querySelector("#waiting")) return;
    const say = "No connection: your response is kept in this browser and sent as soon as the server can be reached.";
    this.form.prepend(make("p", { class: "note note--ask", role: "alert", id: "waiting" }, say));
  }

  /** @param {Response} response */
  async next(response) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("task");
    if (!fresh || new URL(response.url).pathname !== location.pathname) return location.assign(response.url);
    this.place.replaceWith(document.adoptNode(fresh));
    scrollTo({ top: 0 });
    new Task(fresh);
  }
}

/** After a pause, or as soon as the browser is online again. */
function nextTry() {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, RETRY_MS);
    addEventListener("online", () => resolve(clearTimeout(timer)), { once: true });
  });
}

new Task(/** @type {HTMLElement} */ (document.getElementById("task")));
