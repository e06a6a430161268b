/**
 * Texts of a page in the language of its reader. Scripts hold the English text; a page in another language includes
 * the translations of its scripts' texts (live/templatetags/modules.py).
 *
 * @typedef {Record<string, string | number>} Values  written in texts as %(name)s
 */

/** By English text, the translation; of one with a number, by example of such a number. @type {Record<string, any>} */
const TRANSLATED = {};
const ANY_OTHER = "100";

const page = globalThis.document;
const rules = new Intl.PluralRules(page?.documentElement.lang || "en");
for (const { textContent } of page?.querySelectorAll("script.texts") ?? []) {
  Object.assign(TRANSLATED, JSON.parse(textContent ?? "{}"));
}

/**
 * @param {string} text  in English
 * @param {Values} [values]
 * @returns {string}
 */
export function gettext(text, values) {
  return filled(TRANSLATED[text] ?? text, values);
}

/**
 * @param {string} one  in English, for the number 1
 * @param {string} many  for other numbers
 * @param {number} n
 * @param {Values} [values]  beside n, which is known as %(n)s
 * @returns {string}
 */
export function ngettext(one, many, n, values) {
  const forms = TRANSLATED[one] ?? { 1: one, [ANY_OTHER]: many };
  const alike = Object.keys(forms).find((example) => rules.select(Number(example)) === rules.select(n));
  return filled(forms[alike ?? ANY_OTHER], { n, ...values });
}

/** @param {string} text @param {Values} [values] */
function filled(text, values = {}) {
  return text.replaceAll(/%\((\w+)\)s/g, (whole, name) => String(values[name] ?? whole));
}
