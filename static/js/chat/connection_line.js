/** The line that says how the connection is, on the pages of chat and judging. */

import { byId, make } from "./dom.js";

/**
 * @param {import("./connection.js").ConnectionState} state
 * @param {string} kept what is kept in this browser while the connection is lost, with its verb: "what you write is"
 */
export function showConnection(state, kept) {
  const line = byId("connection");
  if (line.dataset.state === state) return;
  line.dataset.state = state;
  line.replaceChildren(textOf(state, kept));
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
  if (state === "connecting") return "Connecting …";
  if (state === "waiting") return `The connection is lost. Trying again; ${kept} kept in this browser.`;
  return state === "refused" ? "Disconnected." : "";
}
