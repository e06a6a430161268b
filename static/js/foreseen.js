/** Shows the consequences of the current values of a form, computed by the server, while it is filled in. */

import { follow } from "./kit/following.js";

for (const place of document.querySelectorAll("[data-foreseen]")) {
  const form = place.closest("form");
  if (place instanceof HTMLElement && form) follow(place, form, () => `${place.dataset.foreseen}?${fieldsOf(form)}`);
}

/** All values of the form except its CSRF token. @param {HTMLFormElement} form */
function fieldsOf(form) {
  const values = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (name !== "csrfmiddlewaretoken" && typeof value === "string" && value) values.append(name, value);
  }
  return values;
}
