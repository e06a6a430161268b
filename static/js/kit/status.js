/** The line in the bar that says how far the work is and what of it is saved, and the one about the connection. */

import { byId, make, setText } from "./dom.js";

/**
 * @param {{unit: string, done: number, of: number, isAll: boolean, areJudged?: boolean, past?: string}} progress
 *   unit: "Reply"; isAll: nothing more has to be done; areJudged: whether they are judged one by one; past: what was
 *   done with each
 */
export function showProgress({ unit, done, of, isAll, areJudged = true, past = "judged" }) {
  const bar = byId("bar");
  bar.setAttribute("max", String(of));
  bar.setAttribute("value", String(Math.min(done, of)));
  if (isAll && !areJudged) setText(byId("done-text"), "Long enough");
  else if (isAll) setText(byId("done-text"), done > of ? `${done} ${past}` : `All ${of} ${past}`);
  else setText(byId("done-text"), `${unit} ${done + 1} of ${of}`);
}

/**
 * @param {import("./connection.js").ConnectionState} state
 * @param {boolean} isSaved  everything that was answered or sent
 */
export function showSaved(state, isSaved) {
  const text = state !== "open" ? (isSaved ? "" : "not saved yet") : isSaved ? "saved" : "saving …";
  setText(byId("saved-text"), text);
  byId("saved-text").dataset.saved = String(isSaved);
}

/**
 * @param {import("./connection.js").ConnectionState} state
 * @param {string} kept what is kept in this browser while the connection is lost, with its verb: "what you write is"
 */
export function showConnection(state, kept) {
  const line = byId("connection");
  const text = textOf(state, kept);
  if (line.dataset.text === text) return;
  line.dataset.text = text;
  line.replaceChildren(text);
  if (state !== "refused") return;
  const reload = make("button", { type: "button" }, "Reload the page");
  reload.addEventListener("click", () => location.reload());
  line.append(" ", reload);
}

/**
 * @param {import("./connection.js").ConnectionState} state
 * @param {string} kept
 */
function textOf(state, kept) {
  if (state === "refused") return "Disconnected.";
  if (state !== "waiting") return "";
  if (!navigator.onLine) return `You are offline; ${kept} kept in this browser and sent when you are back.`;
  return `The connection is lost. Trying again; ${kept} kept in this browser.`;
}
