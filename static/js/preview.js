/**
 * Marks the page that the frame of a study's preview shows, and keeps it when another width, language or other option
 * is chosen.
 */

const frame = /** @type {HTMLIFrameElement} */ (document.querySelector(".previews iframe"));
const pages = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[data-shows]"));
const choices = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".previews__choices a"));

frame.addEventListener("load", follow);
follow(); // it may have loaded before this script

function follow() {
  const path = frame.contentDocument?.location.pathname;
  const current = [...pages].find((page) => page.dataset.shows === path);
  const before = [...pages].find((page) => page.hasAttribute("aria-current"));
  if (!current || current === before) return;
  before?.removeAttribute("aria-current");
  current.setAttribute("aria-current", "page");
  frame.title = frame.title.replace(before?.textContent ?? "", () => current.textContent ?? "");
  const page = new URL(current.href).searchParams.get("page") ?? "";
  for (const choice of choices) {
    const address = new URL(choice.href);
    address.searchParams.set("page", page);
    choice.href = address.href;
  }
  history.replaceState(null, "", current.href);
}
