/** While a study is planned: what it takes, and what it can tell, as the server works it out from what stands in the form. */

const TYPING_PAUSE_MS = 300;
const shown = document.querySelector("[data-outlook]");
const form = shown?.closest("form");
if (shown instanceof HTMLElement && form) watch(shown, form);

/** @param {HTMLElement} shown @param {HTMLFormElement} form */
function watch(shown, form) {
  let timer = 0;
  let latest = "";
  const show = async () => {
    const asked = address(shown, form);
    if (asked === latest) return;
    latest = asked;
    const response = asked ? await fetch(asked).catch(() => null) : null;
    if (asked !== latest) return; // something else was asked meanwhile
    const said = response?.ok && !response.redirected ? await response.text() : "";
    if (asked !== latest) return;
    shown.innerHTML = said; // the server's own page, every value of it escaped
    shown.hidden = !said;
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, TYPING_PAUSE_MS);
  });
  show();
}

/** Empty while nothing is wanted. @param {HTMLElement} shown @param {HTMLFormElement} form */
function address(shown, form) {
  const wanted = conversations(form);
  if (!wanted.length) return "";
  const told = new URLSearchParams({
    task: shown.dataset.task ?? "",
    wanted: wanted.join(),
    minutes: value(form, "expected_minutes"),
    pay: value(form, "pay_amount"),
    currency: value(form, "pay_currency"),
    question_set: value(form, "asks-0-question_set"),
  });
  return `${shown.dataset.outlook}?${told}`;
}

/** Of each chosen bot, or of all people together. @param {HTMLFormElement} form */
function conversations(form) {
  const together = value(form, "two_people-conversations");
  if (together) return [together];
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
