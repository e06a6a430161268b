/**
 * Refuses to paste a text that is too long for its field. Browsers cut it silently, so half a text would be stored.
 */

import { gettext } from "./kit/gettext.js";

addEventListener("paste", (event) => {
  const field = event.target;
  if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) || field.maxLength < 0) return;
  const pasted = event.clipboardData?.getData("text").trimEnd() ?? "";
  const replaced = (field.selectionEnd ?? 0) - (field.selectionStart ?? 0);
  const room = field.maxLength - field.value.length + replaced;
  if (pasted.length <= room) return;
  event.preventDefault();
  showError(field, gettext("What you pasted has %(n)s characters; there is room for %(room)s. Shorten it first.", {
    n: pasted.length.toLocaleString(), room: room.toLocaleString(),
  }));
});

/** Show an error at the field until the next action. @param {HTMLInputElement | HTMLTextAreaElement} field @param {string} text */
function showError(field, text) {
  field.setCustomValidity(text);
  field.reportValidity();
  const over = new AbortController();
  for (const event of ["input", "keydown", "blur"]) {
    field.addEventListener(event, () => {
      field.setCustomValidity("");
      over.abort();
    }, { signal: over.signal });
  }
}
