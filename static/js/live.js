/**
 * Keeps the part of a page with the id "live" up to date: asks every few seconds, and shows what changed.
 *
 * A part with `data-pause-ms` is asked for that often only.
 * A part with `data-stamp` and `data-stamp-url` is fetched only once the stamp at that address is another one.
 */

const PAUSE_MS = 3000;

/** @param {HTMLElement} shown */
async function mayHaveChanged(shown) {
  if (!shown.dataset.stampUrl) return true;
  const response = await fetch(shown.dataset.stampUrl, { headers: { Accept: "application/json" } });
  if (!response.ok || response.redirected) return false; // signed out, or the server restarts
  return (await response.json()).stamp !== shown.dataset.stamp;
}

async function fetched() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return null;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.getElementById("live");
}

/**
 * Show the fresh part; what was open, scrolled to or focused stays so.
 *
 * @param {HTMLElement} shown
 * @param {HTMLElement} fresh
 */
function swap(shown, fresh) {
  for (const details of shown.querySelectorAll("details[open][id]")) {
    fresh.querySelector(`#${details.id}`)?.setAttribute("open", "");
  }
  if (fresh.isEqualNode(shown)) return;
  const focused = shown.contains(document.activeElement) ? document.activeElement : null;
  const focus = focused && place(focused);
  if (focused && !focus) return; // somebody reads where the fresh part cannot be entered again
  const scrolled = [...shown.querySelectorAll(".scroll")].map((region) => ({ where: place(region), left: region.scrollLeft }));
  shown.replaceWith(document.adoptNode(fresh));
  for (const { where, left } of scrolled) {
    const region = where && fresh.querySelector(where);
    if (region) region.scrollLeft = left;
  }
  fresh.dispatchEvent(new Event("fresh", { bubbles: true })); // for scripts that draw in it
  if (focus) /** @type {HTMLElement | null} */ (fresh.querySelector(focus))?.focus({ preventScroll: true });
}

/** A selector that finds the same thing in the fresh part. @param {Element} element */
function place(element) {
  const label = element.getAttribute("aria-label");
  const address = element.getAttribute("href");
  const details = element.closest("details[id]");
  if (label) return `[aria-label="${CSS.escape(label)}"]`;
  if (address) return `[href="${CSS.escape(address)}"]`;
  return element.matches("summary") && details ? `#${details.id} > summary` : null;
}

function pause() {
  return Number(document.getElementById("live")?.dataset.pauseMs) || PAUSE_MS;
}

async function refresh() {
  const shown = document.getElementById("live");
  if (document.hidden || !shown || !(await mayHaveChanged(shown))) return;
  const fresh = await fetched();
  if (fresh) swap(shown, fresh);
}

async function keepUpToDate() {
  await refresh().catch(() => null); // the connection is gone for now
  setTimeout(keepUpToDate, pause());
}

setTimeout(keepUpToDate, pause());
