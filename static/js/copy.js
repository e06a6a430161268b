/** Shows the copy buttons, and copies the field that each one names. */

import { gettext } from "./kit/gettext.js";

/** @param {HTMLInputElement} field */
async function copyField(field) {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    return document.execCommand("copy"); // no clipboard API without https
  }
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  const field = /** @type {HTMLInputElement} */ (document.getElementById(button.getAttribute("data-copy") ?? ""));
  const label = button.textContent;
  button.removeAttribute("hidden");
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    button.textContent = (await copyField(field)) ? gettext("Copied") : gettext("Press Ctrl+C");
    setTimeout(() => (button.textContent = label), 4000);
  });
}
