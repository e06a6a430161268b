/** What formatted texts need beyond their HTML: buttons that copy code, and boxes that the keyboard can scroll. */

import { gettext } from "./gettext.js";

const COPIED_MS = 4000;

/** Boxes that scroll sideways take the focus, and only those. */
const scrolling = new ResizeObserver((entries) => {
  for (const { target } of entries) target.toggleAttribute("tabindex", target.scrollWidth > target.clientWidth);
  for (const { target } of entries) if (target.hasAttribute("tabindex")) target.setAttribute("tabindex", "0");
});

/**
 * Complete a text that the server has formatted (live/markdown.py). Safe to call again after its HTML has changed.
 *
 * @param {HTMLElement} prose
 */
export function complete(prose) {
  for (const box of prose.querySelectorAll(".table, .formula")) scrolling.observe(box);
  for (const code of prose.querySelectorAll(".code:not(:has(> button))")) code.prepend(copyButton(code));
}

/** @param {Element} code */
function copyButton(code) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "code__copy";
  button.textContent = gettext("Copy code");
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    const text = code.querySelector("pre")?.textContent ?? "";
    button.textContent = (await copy(text)) ? gettext("Copied") : gettext("Press Ctrl+C");
    setTimeout(() => (button.textContent = gettext("Copy code")), COPIED_MS);
  });
  return button;
}

/** Copy a text; where the browser does not let scripts do it, select it. @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text.replace(/\n$/, ""));
    return true;
  } catch {
    return copyBySelection(text); // no clipboard API without https
  }
}

/** @param {string} text */
function copyBySelection(text) {
  const before = document.activeElement;
  const box = document.createElement("textarea");
  box.value = text;
  document.body.append(box);
  box.select();
  const isCopied = document.execCommand("copy");
  box.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return isCopied;
}
