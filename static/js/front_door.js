/** The demo conversation of the first page: a few messages, each reply judged. Nothing leaves the page but the turns. */

import { byId, make, NO_TEXT } from "./kit/dom.js";
import { gettext } from "./kit/gettext.js";
import { failureOf } from "./kit/trial.js";

/** @typedef {{key: string, wording: string}} Question */
/** @typedef {Record<string, boolean>} Answers  a question that was not asked is answered with no */

const form = /** @type {HTMLFormElement} */ (byId("demo"));
const box = /** @type {HTMLInputElement} */ (byId("demo-text"));
const send = /** @type {HTMLButtonElement} */ (byId("demo-send"));
const resetButton = byId("demo-reset");
const place = byId("demo-questions");
const list = byId("demo-turns");
const result = byId("demo-result");
const trouble = byId("demo-trouble");
/** @type {Question[]} */
const questions = JSON.parse(byId("questions").textContent ?? "[]");
const most = Number(form.dataset.most);

/** Turns of both speakers, oldest first. @type {string[]} */
let turns = [];
/** Of each judged reply. @type {Answers[]} */
let judgments = [];

/** @param {string} text @returns {Promise<string>} */
async function ask(text) {
  const response = await fetch(form.dataset.url ?? "", {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-CSRFToken": /** @type {HTMLInputElement} */ (form.elements.namedItem("csrfmiddlewaretoken")).value,
    },
    body: JSON.stringify({ turns: [...turns, text], seed: null }),
  });
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
  if (!isJson) throw new Error(gettext("The server has a problem. Reload the page."));
  const body = await response.json();
  if (!response.ok) throw new Error(body.error);
  return body.text;
}

/** @param {string} text */
async function exchange(text) {
  setBusy(true);
  show(gettext("You"), text);
  try {
    const reply = await ask(text);
    turns.push(text, reply);
    show(gettext("Bot"), reply || NO_TEXT);
    setBusy(false);
    askAbout({}, 0);
  } catch (error) {
    list.lastElementChild?.remove();
    if (!box.value) box.value = text;
    trouble.textContent = failureOf(error);
    trouble.hidden = false;
    setBusy(false);
    box.focus();
  }
}

/** Ask the question of this number about the last reply; after the last question, go on. @param {Answers} answers @param {number} number */
function askAbout(answers, number) {
  const question = questions[number];
  if (!question) return void judged(answers);
  const buttons = [true, false].map((answer) => {
    const button = make("button", { type: "button" }, answer ? gettext("Yes") : gettext("No"));
    button.addEventListener("click", () => {
      const all = { ...answers, [question.key]: answer };
      if (answer) askAbout(all, number + 1);
      else judged(all); // what makes no sense is not specific, and the question is not asked
    });
    return button;
  });
  const row = make("div", { class: "row" }, ...buttons);
  place.replaceChildren(make("fieldset", {}, make("legend", {}, question.wording), row));
  setBusy(false);
  buttons[0].focus();
}

/** @param {Answers} answers */
function judged(answers) {
  judgments.push(answers);
  place.replaceChildren();
  showResult();
  setBusy(false);
  if (!form.hidden) box.focus();
}

/** The share of each question's yes, and their mean. */
function showResult() {
  const shares = questions.map(({ key }) => judgments.filter((answers) => answers[key]).length / judgments.length);
  const [sensible, specific, ssa] = [...shares, shares.reduce((sum, share) => sum + share, 0) / shares.length].map((share) => `${Math.round(100 * share)}\u00a0%`);
  const found = gettext("Sensible %(sensible)s, specific %(specific)s: their mean, SSA, is %(ssa)s.", { sensible, specific, ssa });
  const isOver = judgments.length >= most;
  const more = gettext("A study asks many people about many replies, and its report says how certain the result is.");
  result.textContent = isOver ? `${found} ${more}` : found;
  result.hidden = false;
}

/** @param {boolean} isWaiting */
function setBusy(isWaiting) {
  const isAsking = place.childElementCount > 0;
  send.disabled = isWaiting || isAsking;
  box.disabled = isAsking;
  send.textContent = isWaiting ? gettext("Waiting …") : gettext("Send");
  if (isWaiting) trouble.hidden = true;
  resetButton.hidden = turns.length === 0;
  const isOver = judgments.length >= most;
  for (const part of [box.parentElement, send]) if (part) part.hidden = isOver;
}

/** @param {string} who @param {string} text */
function show(who, text) {
  const isBot = who === gettext("Bot");
  list.append(make("li", { class: isBot ? "is-bot" : "" }, make("b", {}, who), make("p", { dir: "auto" }, text)));
}

send.disabled = false; // until here, Enter would have reloaded the page
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = box.value.trim();
  if (!text || send.disabled) return;
  box.value = "";
  exchange(text);
});

resetButton.addEventListener("click", () => {
  turns = [];
  judgments = [];
  list.replaceChildren();
  place.replaceChildren();
  result.hidden = true;
  setBusy(false);
  box.focus();
});
