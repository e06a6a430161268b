/**
 * Keeps the part of a page with the id "live" up to date by fetching it every few seconds.
 *
 * `data-pause-ms` sets the pause between two requests.
 * A part with `data-stamp` and `data-stamp-url` is fetched only if the stamp at that address has changed.
 */

const PAUSE_MS = 3000;

/** @param {HTMLElement} part */
async function mayHaveChanged(part) {
  if (!part.dataset.stampUrl) return true;
  const response = await fetch(part.dataset.stampUrl, { headers: { Accept: "application/json" } });
  if (!response.ok || response.redirected) return false; // signed out, or the server restarts
  return (await response.json()).stamp !== part.dataset.stamp;
}

async function fetchPart() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return null;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.getElementById("live");
}

/**
 * Show the fresh part; open details, chosen switches, scroll positions and the focus stay.
 *
 * @param {HTMLElement} part
 * @param {HTMLElement} fresh
 */
function swap(part, fresh) {
  for (const details of part.querySelectorAll("details[open][id]")) {
    fresh.querySelector(`#${details.id}`)?.setAttribute("open", "");
  }
  for (const chosen of part.querySelectorAll('input[type="radio"][id]:checked')) {
    const same = /** @type {HTMLInputElement | null} */ (fresh.querySelector(`#${chosen.id}`));
    if (same) same.checked = true;
  }
  if (fresh.isEqualNode(part)) return;
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const focus = focused && selectorOf(focused);
  if (focused && !focus) return; // the focused element has no counterpart in the fresh part
  const scrolled = [...part.querySelectorAll(".scroll")].map((region) => ({ where: selectorOf(region), left: region.scrollLeft }));
  part.replaceWith(document.adoptNode(fresh));
  for (const { where, left } of scrolled) {
    const region = where && fresh.querySelector(where);
    if (region) region.scrollLeft = left;
  }
  fresh.dispatchEvent(new Event("fresh", { bubbles: true })); // for scripts that draw in it
  if (focus) /** @type {HTMLElement | null} */ (fresh.querySelector(focus))?.focus({ preventScroll: true });
}

/** Selector of the same element in the fresh part. @param {Element} element */
function selectorOf(element) {
  const label = element.getAttribute("aria-label");
  const address = element.getAttribute("href");
  const details = element.closest("details[id]");
  if (label) return `[aria-label="${CSS.escape(label)}"]`;
  if (address) return `[href="${CSS.escape(address)}"]`;
  if (element.matches("input[id]")) return `#${element.id}`;
  return element.matches("summary") && details ? `#${details.id} > summary` : null;
}

function pause() {
  return Number(document.getElementById("live")?.dataset.pauseMs) || PAUSE_MS;
}

async function refresh() {
  const part = document.getElementById("live");
  if (document.hidden || !part || !(await mayHaveChanged(part))) return;
  const fresh = await fetchPart();
  if (fresh) swap(part, fresh);
}

async function keepUpToDate() {
  await refresh().catch(() => null); // offline for now
  setTimeout(keepUpToDate, pause());
}

setTimeout(keepUpToDate, pause());
