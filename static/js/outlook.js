/** While a study is planned: what it takes, and what it can tell, as the server works it out from what stands in the form. */

import { follow } from "./kit/following.js";

const shown = document.querySelector("[data-outlook]");
const form = shown?.closest("form");
if (shown instanceof HTMLElement && form) follow(shown, form, () => address(shown, form))();

/** @param {HTMLElement} shown @param {HTMLFormElement} form */
function address(shown, form) {
  const told = new URLSearchParams({
    task: shown.dataset.task ?? "",
    study: shown.dataset.study ?? "",
    wanted: conversations(form).join(),
    minutes: value(form, "expected_minutes"),
    pay: value(form, "pay_amount"),
    currency: value(form, "pay_currency"),
    question_set: value(form, "asks-0-question_set") || value(form, "question_set"),
  });
  for (const [name, said] of planned(form)) told.set(name, said);
  return `${shown.dataset.outlook}?${told}`;
}

/**
 * What the form says that only its task asks for: numbers, and what is chosen from a list.
 *
 * @param {HTMLFormElement} form
 * @returns {[string, string][]}
 */
function planned(form) {
  const fields = form.querySelectorAll("input[type=number][name*='-'], select[name*='-']");
  return [...fields]
    .filter((field) => field instanceof HTMLInputElement || field instanceof HTMLSelectElement)
    .filter(({ name }) => !/^(bots|asks|questionnaires)-/.test(name))
    .map(({ name, value }) => [name, value.trim()]);
}

/** Of each chosen bot. @param {HTMLFormElement} form */
function conversations(form) {
  const targets = form.querySelectorAll("input[name^='bots-'][name$='-target']");
  return [...targets]
    .filter((target) => target instanceof HTMLInputElement && isChosen(form, target.name.replace(/-target$/, "-chosen")))
    .map((target) => /** @type {HTMLInputElement} */ (target).value)
    .filter(Boolean);
}

/** @param {HTMLFormElement} form @param {string} name */
function isChosen(form, name) {
  const box = form.elements.namedItem(name);
  return box instanceof HTMLInputElement && (box.checked || box.type === "hidden");
}

/** @param {HTMLFormElement} form @param {string} name */
function value(form, name) {
  const field = form.elements.namedItem(name);
  return field instanceof HTMLInputElement || field instanceof HTMLSelectElement ? field.value.trim() : "";
}
