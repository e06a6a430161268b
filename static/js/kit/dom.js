/** Builds elements. Text is inserted as text, never as markup, except HTML that the server has sanitised. */

import { gettext } from "./gettext.js";
import { complete } from "./prose.js";

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/**
 * An element of the page's template.
 *
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {string} id
 * @returns {Kind}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no element #${id}. Add it to the page's template.`);
  return /** @type {Kind} */ (element);
}

/**
 * Sets text only where it differs, so that live regions speak once.
 *
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The neutral sentence in place of a reply without text; it says neither why nor whose decision it was. */
export const NO_TEXT = gettext("This reply has no text.");

/** @param {Record<string, string>} attributes */
function noText(attributes) {
  return make("p", { class: "turn__text turn__text--none", ...attributes }, make("em", {}, NO_TEXT));
}

/**
 * Element with a text; `html` is the same text formatted and sanitised by the server (live/markdown.py).
 *
 * @param {string} text
 * @param {string | null} [html]
 * @param {Record<string, string>} [attributes]
 */
export function textElement(text, html = null, attributes = {}) {
  if (!text) return noText(attributes);
  if (html === null) return make("p", { class: "turn__text", dir: "auto", ...attributes }, text);
  const element = make("div", { class: "turn__text prose", dir: "auto", ...attributes });
  element.innerHTML = html;
  complete(element);
  return element;
}
