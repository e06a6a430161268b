/**
 * The editor of a question set: steps without a new page, and a preview that follows.
 *
 * Every step goes to the server, as it does without this script; only the form is put in place of the old one.
 */

import { byId, setText } from "../kit/dom.js";

const PAUSE_MS = 700;

const form = () => /** @type {HTMLFormElement} */ (byId("draft"));

/** The running step, and one that was requested meanwhile. */
let running = "";
let next = "";

/** @param {string} step */
async function sendStep(step) {
  const sent = new FormData(form());
  sent.set("do", step);
  const response = await fetch(location.href, { method: "POST", body: sent, headers: { Accept: "text/html" } });
  if (response.redirected) location.href = response.url; // signed out
  return { sent, page: new DOMParser().parseFromString(await response.text(), "text/html") };
}

/**
 * Keep text that was typed while the server answered a step that only changes other fields.
 *
 * @param {HTMLElement} fresh
 * @param {FormData} sent
 */
function keepNewInput(fresh, sent) {
  for (const old of form().querySelectorAll("input[type=text], textarea")) {
    const { name, value } = /** @type {HTMLInputElement} */ (old);
    const now = /** @type {HTMLInputElement | null} */ (fresh.querySelector(`[name="${CSS.escape(name)}"]`));
    if (now && value !== sent.get(name)) now.value = value;
  }
}

/**
 * @param {string} step
 * @param {Document} page
 * @param {FormData} sent
 */
function show(step, page, sent) {
  const fresh = page.getElementById("draft");
  if (!fresh) throw new Error("The answer has no form.");
  if (step === "show") keepNewInput(fresh, sent);
  const before = document.activeElement?.id ?? "";
  form().replaceWith(document.adoptNode(fresh));
  showChoices(page);
  setText(byId("said"), page.getElementById("said")?.textContent ?? "");
  const target = fresh.querySelector("[autofocus]") ?? (before && document.getElementById(before));
  if (!(target instanceof HTMLElement)) return;
  target.focus();
  target.scrollIntoView({ block: "nearest" });
}

/** Update the choices of the preview; a selected value stays if it still exists. @param {Document} page */
function showChoices(page) {
  const fresh = page.getElementById("preview-choice");
  if (!fresh) return;
  for (const old of byId("preview-choice").querySelectorAll("select")) {
    const now = fresh.querySelector(`select[name="${old.name}"]`);
    const option = now?.querySelector(`option[value="${CSS.escape(old.value)}"]`);
    if (now instanceof HTMLSelectElement && option) now.value = old.value;
  }
  byId("preview-choice").replaceWith(document.adoptNode(fresh));
}

/**
 * Take a step; one at a time: a second press must not hit what has moved to the same place.
 *
 * @param {string} step
 */
async function take(step) {
  if (running) return void (next = running === "show" ? step : "");
  running = step;
  document.documentElement.setAttribute("aria-busy", "true");
  byId("trouble").hidden = true;
  try {
    const { sent, page } = await sendStep(step);
    show(step, page, sent);
    preview();
  } catch {
    byId("trouble").hidden = false;
  }
  running = "";
  document.documentElement.removeAttribute("aria-busy");
  const after = next;
  next = "";
  if (after) await take(after);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

function preview() {
  clearTimeout(timer);
  timer = setTimeout(() => form().requestSubmit(/** @type {HTMLButtonElement} */ (byId("preview-button"))), PAUSE_MS);
}

document.addEventListener("submit", (event) => {
  const { submitter } = event;
  if (event.target !== form() || !(submitter instanceof HTMLButtonElement)) return;
  if (submitter.name !== "do" || submitter.value === "save") return;
  event.preventDefault();
  void take(submitter.value);
});

document.addEventListener("change", ({ target }) => {
  if (target instanceof HTMLSelectElement && target.dataset.step) void take(target.dataset.step);
  else preview();
});

document.addEventListener("input", ({ target }) => {
  if (target instanceof HTMLElement && form().contains(target) && target.matches("input, textarea")) preview();
});

document.documentElement.classList.add("has-script");
preview();
