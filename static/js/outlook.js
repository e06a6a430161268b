/** Shows effort and power of a planned study, computed by the server from the form, while it is filled in. */

import { follow } from "./kit/following.js";

const place = document.querySelector("[data-outlook]");
const form = place?.closest("form");
if (place instanceof HTMLElement && form) follow(place, form, () => address(place, form))();

/** @param {HTMLElement} place @param {HTMLFormElement} form */
function address(place, form) {
  const query = new URLSearchParams({
    task: place.dataset.task ?? "",
    study: place.dataset.study ?? "",
    wanted: conversations(form).join(),
    minutes: value(form, "expected_minutes"),
    pay: value(form, "pay_amount"),
    currency: value(form, "pay_currency"),
    re_entry: value(form, "re_entry"),
    re_entry_most: value(form, "re_entry_most"),
    question_set: value(form, "asks-0-question_set") || value(form, "question_set"),
  });
  for (const [name, text] of planned(form)) query.set(name, text);
  return `${place.dataset.outlook}?${query}`;
}

/**
 * Values of the fields that belong to the task: numbers and selections.
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

/** Number of conversations of each chosen bot. @param {HTMLFormElement} form */
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
