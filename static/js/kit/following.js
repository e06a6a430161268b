/** Shows an answer of the server to the current values of a form, and updates it while the form is filled in. */

const TYPING_PAUSE_MS = 300;

/**
 * @param {HTMLElement} place element for the answer; hidden while that is empty
 * @param {HTMLFormElement} form
 * @param {() => string} address URL for the current values of the form
 * @returns {() => Promise<void>} fetches the answer now
 */
export function follow(place, form, address) {
  let timer = 0;
  let latest = "";
  const show = async () => {
    const url = address();
    if (url === latest) return;
    latest = url;
    const response = await fetch(url).catch(() => null);
    if (url !== latest) return; // a newer request is running
    const html = response?.ok && !response.redirected ? (await response.text()).trim() : "";
    if (url !== latest) return;
    place.innerHTML = html; // the server's own page, every value of it escaped
    place.hidden = !html;
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, TYPING_PAUSE_MS);
  });
  return show;
}
