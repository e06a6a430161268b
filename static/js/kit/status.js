/** Progress and saving status in the bar, and the line about the connection. */

import { byId, make, setText } from "./dom.js";
import { gettext, ngettext } from "./gettext.js";

/**
 * @param {{done: number, of: number, text: string}} progress  text: the progress in words
 */
export function showProgress({ done, of, text }) {
  const bar = byId("bar");
  bar.setAttribute("max", String(of));
  bar.setAttribute("value", String(Math.min(done, of)));
  setText(byId("done-text"), text);
}

/**
 * Progress of judging item after item, in words.
 *
 * @param {{done: number, of: number, isAll: boolean}} progress  isAll: nothing more has to be judged
 */
export function judgedInWords({ done, of, isAll }) {
  if (!isAll) return gettext("Item %(n)s of %(all)s", { n: done + 1, all: of });
  return done > of ? ngettext("%(n)s judged", "%(n)s judged", done) : ngettext("Judged", "All %(n)s judged", of);
}

/** Explanation why an answer does not count yet. */
export const whyLocked = () => gettext("The answers are locked until you have read the text to its end.");

/**
 * @param {import("./connection.js").ConnectionState} state
 * @param {boolean} isSaved  everything that was answered or sent
 * @param {boolean} isAnything  whether anything was
 */
export function showSaved(state, isSaved, isAnything) {
  const saved = isAnything && state === "open" ? gettext("saved") : "";
  const text = isSaved ? saved : state === "open" ? gettext("saving …") : gettext("not saved yet");
  setText(byId("saved-text"), text);
  byId("saved-text").dataset.saved = String(isSaved);
}

/**
 * @param {import("./connection.js").ConnectionState} state
 * @param {{offline: string, lost: string}} texts  messages for a lost connection, which name what is kept
 */
export function showConnection(state, texts) {
  const line = byId("connection");
  const text = textOf(state, texts);
  if (line.dataset.text === text) return;
  line.dataset.text = text;
  line.replaceChildren(text);
  if (state !== "refused") return;
  const reload = make("button", { type: "button" }, gettext("Reload the page"));
  reload.addEventListener("click", () => location.reload());
  line.append(" ", reload);
}

/**
 * @param {import("./connection.js").ConnectionState} state
 * @param {{offline: string, lost: string}} texts
 */
function textOf(state, { offline, lost }) {
  if (state === "refused") return gettext("Disconnected.");
  if (state !== "waiting") return "";
  return navigator.onLine ? lost : offline;
}

/** Messages for `showConnection` on pages where workers write. */
export const writing = () => ({
  offline: gettext("You are offline; what you write is kept in this browser and sent when you are back."),
  lost: gettext("The connection is lost. Trying again; what you write is kept in this browser."),
});

/** Messages for `showConnection` on pages where workers judge. */
export const answering = () => ({
  offline: gettext("You are offline; your answers are kept in this browser and sent when you are back."),
  lost: gettext("The connection is lost. Trying again; your answers are kept in this browser."),
});
