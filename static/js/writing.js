/** The page on which people write: keeps the draft in this browser, and sends on Enter. */

const form = /** @type {HTMLFormElement} */ (document.getElementById("writing"));
const box = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("text"));
const count = /** @type {HTMLElement} */ (document.getElementById("count"));
const key = `turnwise.writing.${form.dataset.draft}`;

/** Storage may be switched off or full; then the page works without a draft. @param {() => void} act */
function quietly(act) {
  try {
    act();
  } catch {
    /* nothing to keep it in */
  }
}

/** What was typed last, which may be newer than what the server refused and gave back. */
function restore() {
  box.value = localStorage.getItem(key) ?? box.value;
  box.setSelectionRange(box.value.length, box.value.length);
}

/** Drafts of responses that were sent are of no use any more. */
function forgetOthers() {
  for (const known of Object.keys(localStorage)) {
    if (known.startsWith("turnwise.writing.") && known !== key) localStorage.removeItem(known);
  }
}

/** The browser cuts off what is longer, of a pasted text too. */
function showCount() {
  const { length } = box.value;
  const isFull = length >= box.maxLength;
  const said = `${length} of at most ${box.maxLength} characters${isFull ? ": what is longer is cut off" : ""}`;
  count.textContent = length > 0.9 * box.maxLength ? said : "";
}

quietly(restore);
showCount();
quietly(forgetOthers);
box.addEventListener("input", showCount);
box.addEventListener("input", () => quietly(() => localStorage.setItem(key, box.value)));

box.addEventListener("keydown", (event) => {
  // While an input method composes a character, Enter chooses it.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

let isSent = false;
form.addEventListener("submit", (event) => {
  if (isSent) event.preventDefault();
  isSent = true;
});
// The page comes back from the browser's memory as it was left.
addEventListener("pageshow", () => (isSent = false));
