/** Keeps the part of a page with the id "live" up to date: fetches the page every few seconds and shows it. */

const part = () => document.getElementById("live");

async function refresh() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return; // signed out, or the server restarts
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.getElementById("live");
  const shown = part();
  if (!fresh || !shown || fresh.innerHTML === shown.innerHTML) return;
  if (shown.contains(document.activeElement)) return; // somebody reads there
  for (const details of shown.querySelectorAll("details[open][id]")) {
    fresh.querySelector(`#${details.id}`)?.setAttribute("open", "");
  }
  shown.replaceWith(document.adoptNode(fresh));
}

async function keepUpToDate() {
  if (!document.hidden) await refresh().catch(() => null);
  setTimeout(keepUpToDate, 1000 * Number(part()?.dataset.seconds ?? 5));
}

setTimeout(keepUpToDate, 1000);
