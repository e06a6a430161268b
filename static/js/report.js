/** While a report is being computed, fetches the page every few seconds and shows its new state. */

const PAUSE_MS = 3000;

async function fetchReport() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return null; // signed out, or the server restarts
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.getElementById("report");
}

async function refresh() {
  const shown = document.getElementById("report");
  if (!shown?.hasAttribute("data-running")) return;
  const fresh = await fetchReport().catch(() => null);
  if (fresh) shown.replaceWith(document.adoptNode(fresh));
  setTimeout(refresh, PAUSE_MS);
}

setTimeout(refresh, PAUSE_MS);
