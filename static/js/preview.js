/**
 * Marks the page that a study's preview shows, wherever somebody walks within its frame, and keeps them there
 * when they choose another width, language or the like.
 */

const frame = /** @type {HTMLIFrameElement} */ (document.querySelector(".previews iframe"));
const pages = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[data-shows]"));
const choices = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".previews__choices a"));

frame.addEventListener("load", follow);
follow(); // it may have loaded before this script

function follow() {
  const shown = frame.contentDocument?.location.pathname;
  const here = [...pages].find((page) => page.dataset.shows === shown);
  const before = [...pages].find((page) => page.hasAttribute("aria-current"));
  if (!here || here === before) return;
  before?.removeAttribute("aria-current");
  here.setAttribute("aria-current", "page");
  frame.title = frame.title.replace(before?.textContent ?? "", () => here.textContent ?? "");
  const page = new URL(here.href).searchParams.get("page") ?? "";
  for (const choice of choices) {
    const address = new URL(choice.href);
    address.searchParams.set("page", page);
    choice.href = address.href;
  }
  history.replaceState(null, "", here.href);
}
