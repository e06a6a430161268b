/** Filters the kinds of bots while a word is typed; without scripts the form asks the server. */

const input = document.getElementById("find-kind");
const told = document.getElementById("kinds-found");
const groups = [...document.querySelectorAll(".kinds")];

if (input instanceof HTMLInputElement && told && groups.length) {
  // The server has filtered the list already, so it must also widen it.
  const isComplete = !new URLSearchParams(location.search).get("find");
  if (isComplete) {
    input.form?.addEventListener("submit", (event) => event.preventDefault());
    input.form?.querySelector("button")?.remove();
    input.addEventListener("input", () => filter(input.value));
    filter(input.value); // for text typed before the script had loaded
  }
}

/** Show the kinds that have every word. @param {string} sought */
function filter(sought) {
  const words = sought.toLowerCase().split(/\s+/);
  for (const group of groups) {
    const tiles = /** @type {HTMLElement[]} */ ([...group.querySelectorAll(".tiles a")]);
    for (const tile of tiles) {
      const text = (tile.textContent ?? "").toLowerCase();
      tile.hidden = !words.every((word) => text.includes(word));
    }
    group.toggleAttribute("hidden", tiles.every((tile) => tile.hidden));
  }
  if (told) told.textContent = groups.every((group) => group.hasAttribute("hidden")) ? told.dataset.none ?? "" : "";
}
