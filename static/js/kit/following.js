/** What the server says of what stands in a form, renewed while somebody fills it. */

const TYPING_PAUSE_MS = 300;

/**
 * @param {HTMLElement} shown where it is said; hidden while there is nothing to say
 * @param {HTMLFormElement} form
 * @param {() => string} address where it is asked, as the form stands
 * @returns {() => Promise<void>} asks now
 */
export function follow(shown, form, address) {
  let timer = 0;
  let latest = "";
  const show = async () => {
    const asked = address();
    if (asked === latest) return;
    latest = asked;
    const response = await fetch(asked).catch(() => null);
    if (asked !== latest) return; // something else was asked meanwhile
    const said = response?.ok && !response.redirected ? (await response.text()).trim() : "";
    if (asked !== latest) return;
    shown.innerHTML = said; // the server's own page, every value of it escaped
    shown.hidden = !said;
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, TYPING_PAUSE_MS);
  });
  return show;
}
