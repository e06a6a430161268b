/** Sends one message to several bots: each column holds the turns of one chat; the server stores none. */

import { byId, make, NO_TEXT } from "./kit/dom.js";
import { gettext } from "./kit/gettext.js";

const form = /** @type {HTMLFormElement} */ (byId("say"));
const box = /** @type {HTMLInputElement} */ (byId("text"));
const send = /** @type {HTMLButtonElement} */ (byId("send"));
const resetButton = /** @type {HTMLButtonElement} */ (byId("anew"));

/** The chat with one bot. */
class Column {
  /** @param {HTMLElement} section */
  constructor(section) {
    this.url = section.dataset.url ?? "";
    this.list = /** @type {HTMLElement} */ (section.querySelector(".trial"));
    /** Turns, oldest first; without messages that got no reply. @type {string[]} */
    this.turns = [];
  }

  /** @param {string} text */
  async exchange(text) {
    this.list.append(make("li", {}, make("b", {}, gettext("You")), make("p", {}, text)));
    const reply = make("li", { class: "is-bot" }, make("b", {}, gettext("Bot")), make("p", { class: "soft" }, gettext("Waiting …")));
    this.list.append(reply);
    try {
      const { answer, ms, remarks } = await this.ask(text);
      this.turns.push(text, answer);
      const facts = make("p", { class: "small soft" }, `${ms}\u00a0ms`);
      for (const remark of remarks) facts.append(make("br"), remark);
      reply.replaceChildren(make("b", {}, gettext("Bot")), make("p", {}, answer || NO_TEXT), facts);
    } catch (error) {
      const why = error instanceof TypeError ? gettext("The server cannot be reached. Try again.") : error instanceof Error ? error.message : String(error);
      reply.className = "is-error";
      reply.replaceChildren(make("p", { class: "note note--bad" }, why));
    }
  }

  /** @param {string} text */
  async ask(text) {
    const response = await fetch(this.url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-CSRFToken": /** @type {HTMLInputElement} */ (form.elements.namedItem("csrfmiddlewaretoken")).value,
      },
      body: JSON.stringify({ turns: [...this.turns, text], seed: null }),
    });
    if (!response.headers.get("Content-Type")?.startsWith("application/json")) {
      throw new Error(gettext("You are signed out, or the server has a problem. Reload the page."));
    }
    const body = await response.json();
    if (!response.ok) throw new Error(body.error);
    return {
      answer: /** @type {string} */ (body.text),
      ms: /** @type {number} */ (body.latency_ms),
      remarks: /** @type {string[]} */ (body.remarks),
    };
  }

  restart() {
    this.turns = [];
    this.list.replaceChildren();
  }
}

const columns = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".asked-bot"))].map((section) => new Column(section));

send.disabled = false; // until here, Enter would have reloaded the page
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = box.value.trim();
  if (!text || send.disabled) return;
  box.value = "";
  send.disabled = true;
  send.textContent = gettext("Waiting …");
  await Promise.all(columns.map((column) => column.exchange(text)));
  send.disabled = false;
  send.textContent = gettext("Send");
  resetButton.hidden = false;
  box.focus();
});

resetButton.addEventListener("click", () => {
  for (const column of columns) column.restart();
  resetButton.hidden = true;
  box.focus();
});
