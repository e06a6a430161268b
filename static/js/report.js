/** Keeps the report's page up to date: asks every few seconds whether something changed, and shows it. */

const PAUSE_MS = 3000;

async function changed(shown) {
  const response = await fetch(shown.dataset.stampUrl, { headers: { Accept: "application/json" } });
  if (!response.ok || response.redirected) return false; // signed out, or the server restarts
  return (await response.json()).stamp !== shown.dataset.stamp;
}

async function fetchReport() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return null;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.getElementById("report");
}

/** Show the new report; what was open, scrolled to or focused stays so. */
function swap(shown, fresh) {
  const focused = shown.contains(document.activeElement) ? place(document.activeElement) : null;
  for (const details of shown.querySelectorAll("details[open][id]")) {
    fresh.querySelector(`#${details.id}`)?.setAttribute("open", "");
  }
  const scrolled = [...shown.querySelectorAll(".scroll")].map((region) => [place(region), region.scrollLeft]);
  shown.replaceWith(document.adoptNode(fresh));
  for (const [where, left] of scrolled) {
    const region = where && fresh.querySelector(where);
    if (region) region.scrollLeft = left;
  }
  if (focused) fresh.querySelector(focused)?.focus({ preventScroll: true });
}

/** A selector that finds the same thing in the new report. */
function place(element) {
  const label = element.getAttribute("aria-label");
  const address = element.getAttribute("href");
  const details = element.closest("details[id]");
  if (label) return `[aria-label="${CSS.escape(label)}"]`;
  if (address) return `[href="${CSS.escape(address)}"]`;
  return element.matches("summary") && details ? `#${details.id} > summary` : null;
}

async function refresh() {
  const shown = document.getElementById("report");
  if (!document.hidden && (await changed(shown))) {
    const fresh = await fetchReport();
    if (fresh) swap(shown, fresh);
  }
}

async function keepUpToDate() {
  await refresh().catch(() => null); // the connection is gone for now
  setTimeout(keepUpToDate, PAUSE_MS);
}

setTimeout(keepUpToDate, PAUSE_MS);
