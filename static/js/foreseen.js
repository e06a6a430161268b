/** While something is chosen in a form: what it leads to, as the server works it out from what stands there. */

import { follow } from "./kit/following.js";

for (const shown of document.querySelectorAll("[data-foreseen]")) {
  const form = shown.closest("form");
  if (shown instanceof HTMLElement && form) follow(shown, form, () => `${shown.dataset.foreseen}?${told(form)}`);
}

/** All that stands in the form, but what proves whose it is. @param {HTMLFormElement} form */
function told(form) {
  const values = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (name !== "csrfmiddlewaretoken" && typeof value === "string" && value) values.append(name, value);
  }
  return values;
}
