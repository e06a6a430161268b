/** While something is chosen in a form: what it leads to, as the server works it out from what stands there. */

const TYPING_PAUSE_MS = 300;
for (const shown of document.querySelectorAll("[data-foreseen]")) {
  const form = shown.closest("form");
  if (shown instanceof HTMLElement && form) watch(shown, form);
}

/** @param {HTMLElement} shown @param {HTMLFormElement} form */
function watch(shown, form) {
  let timer = 0;
  let latest = "";
  const show = async () => {
    const asked = `${shown.dataset.foreseen}?${told(form)}`;
    if (asked === latest) return;
    latest = asked;
    const response = await fetch(asked).catch(() => null);
    if (asked !== latest) return; // something else was chosen meanwhile
    const said = response?.ok && !response.redirected ? (await response.text()).trim() : "";
    if (asked !== latest) return;
    shown.innerHTML = said; // the server's own page, every value of it escaped
    shown.hidden = !said;
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, TYPING_PAUSE_MS);
  });
}

/** All that stands in the form, but what proves whose it is. @param {HTMLFormElement} form */
function told(form) {
  const values = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (name !== "csrfmiddlewaretoken" && typeof value === "string" && value) values.append(name, value);
  }
  return values;
}
