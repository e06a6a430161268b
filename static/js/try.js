/** A private chat with a bot: the page holds the turns; the server stores none. */

import { byId, make, NO_TEXT } from "./kit/dom.js";
import { gettext, ngettext } from "./kit/gettext.js";

/**
 * @typedef {{text: string, candidates: {text: string, score: number}[], usage: {completion: number | null}, outcome: string, model: string, remarks: string[], unformatted: boolean, latency_ms: number, version_name: string}} Reply
 */

const form = /** @type {HTMLFormElement} */ (byId("say"));
const box = /** @type {HTMLInputElement} */ (byId("text"));
const send = /** @type {HTMLButtonElement} */ (byId("send"));
const againButton = /** @type {HTMLButtonElement} */ (byId("again"));
const resetButton = /** @type {HTMLButtonElement} */ (byId("anew"));
const trouble = byId("trouble");

/** Turns of both speakers, oldest first. @type {string[]} */
let turns = [];

/** @param {string} text */
async function ask(text) {
  const seed = /** @type {HTMLInputElement} */ (byId("seed")).value;
  const response = await fetch(form.dataset.url ?? "", {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-CSRFToken": /** @type {HTMLInputElement} */ (form.elements.namedItem("csrfmiddlewaretoken")).value,
    },
    body: JSON.stringify({ turns: [...turns, text], seed: seed === "" ? null : Number(seed) }),
  });
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
  if (!isJson) throw new Error(gettext("You are signed out, or the server has a problem. Reload the page."));
  const body = await response.json();
  if (!response.ok) throw new Error(body.error);
  return /** @type {Reply} */ (body);
}

/** @param {string} text */
async function exchange(text) {
  busy(true);
  show(gettext("You"), text);
  try {
    const reply = await ask(text);
    turns.push(text, reply.text);
    show(gettext("Bot"), reply.text || NO_TEXT, about(reply));
  } catch (error) {
    byId("turns").lastElementChild?.remove();
    if (!box.value) box.value = text;
    trouble.textContent = error instanceof TypeError ? gettext("The server cannot be reached. Try again.") : error instanceof Error ? error.message : String(error);
    trouble.hidden = false;
  }
  busy(false);
  box.focus();
}

/** @param {boolean} isBusy */
function busy(isBusy) {
  send.disabled = againButton.disabled = isBusy;
  send.textContent = isBusy ? gettext("Waiting …") : gettext("Send");
  if (isBusy) trouble.hidden = true;
  againButton.hidden = resetButton.hidden = turns.length === 0;
}

/** @param {string} who @param {string} text @param {...Node} more */
function show(who, text, ...more) {
  byId("turns").append(make("li", { class: who === gettext("Bot") ? "is-bot" : "" }, make("b", {}, who), make("p", {}, text), ...more));
}

/** Time, tokens and candidates of a reply. @param {Reply} reply */
function about(reply) {
  const n = reply.usage.completion;
  const tokens = n === null ? "" : ngettext("%(n)s token", "%(n)s tokens", n);
  const outcome = reply.outcome === "complete" ? "" : reply.outcome.replace("_", " ");
  const facts = make("p", { class: "small soft" }, [`${reply.latency_ms}\u00a0ms`, tokens, outcome, reply.model, reply.version_name].filter(Boolean).join(", "));
  for (const remark of reply.remarks) facts.append(make("br"), remark);
  if (reply.unformatted) facts.append(make("br"), make("strong", {}, gettext("This reply has marks of Markdown. Workers see the marks themselves, unless the study shows Markdown in replies.")));
  if (!reply.candidates.length) return facts;
  const rows = reply.candidates.map(({ text, score }) =>
    make("tr", {}, make("td", {}, text), make("td", { class: "nowrap" }, score.toPrecision(4))),
  );
  const head = make("tr", {}, make("th", { scope: "col" }, gettext("Candidate")), make("th", { scope: "col" }, gettext("Score")));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  return make("div", {}, facts, make("details", {}, make("summary", {}, ngettext("%(n)s candidate", "%(n)s candidates", rows.length)), table));
}

send.disabled = false; // until here, Enter would have reloaded the page
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = box.value.trim();
  if (!text || send.disabled) return;
  box.value = "";
  exchange(text);
});

againButton.addEventListener("click", () => {
  const [text] = turns.splice(-2, 2);
  const list = byId("turns");
  list.lastElementChild?.remove();
  list.lastElementChild?.remove();
  exchange(text);
});

resetButton.addEventListener("click", () => {
  turns = [];
  byId("turns").replaceChildren();
  busy(false);
  box.focus();
});
