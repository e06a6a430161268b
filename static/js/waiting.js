/** Says what a long request waits for, and keeps a second click from sending it once more. */

/** Requests that are answered sooner need no words. */
const SOON_MS = 1000;

const line = document.createElement("p");
line.className = "note";
line.setAttribute("role", "status");
line.hidden = true;
/** @type {HTMLFormElement | null} */
let sent = null;

addEventListener("submit", (event) => {
  const { submitter, target } = event;
  if (!(submitter instanceof HTMLButtonElement) || !(target instanceof HTMLFormElement)) return;
  const says = submitter.dataset.waiting;
  if (!says || event.defaultPrevented) return;
  if (sent) return event.preventDefault();
  sent = target;
  submitter.setAttribute("aria-disabled", "true");
  (target.closest(".row") ?? target).after(line);
  setTimeout(() => {
    line.hidden = sent === null;
    line.textContent = says; // a screen reader reads what changes in an element that it knows
  }, SOON_MS);
});

/** The page comes back from the browser's memory. */
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  sent?.querySelector("[data-waiting]")?.removeAttribute("aria-disabled");
  sent = null;
  line.hidden = true;
});
