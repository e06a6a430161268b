/** Asks a bot for a reply that the server does not store, and passes on its text as it grows. */

import { gettext } from "./gettext.js";

const LINES = "application/x-ndjson";

/**
 * @typedef {{text: string, candidates: {text: string, score: number}[], usage: {completion: number | null}, outcome: string, model: string, remarks: string[], unformatted: boolean, latency_ms: number, version_name: string}} Reply
 * @typedef {import("./growing_text.js").Part} Part
 */

/**
 * @param {HTMLFormElement} form  with the token against forged requests
 * @param {string} url
 * @param {{turns: string[], seed: number | null}} sent
 * @param {(part: Part) => void} onPart
 * @returns {Promise<Reply>}
 */
export async function askBot(form, url, sent, onPart) {
  const token = /** @type {HTMLInputElement} */ (form.elements.namedItem("csrfmiddlewaretoken")).value;
  const headers = { Accept: LINES, "Content-Type": "application/json", "X-CSRFToken": token };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(sent) });
  const kind = response.headers.get("Content-Type") ?? "";
  if (kind.startsWith("application/json")) throw new Error((await response.json()).error);
  if (!kind.startsWith(LINES) || !response.body) throw new Error(gettext("You are signed out, or the server has a problem. Reload the page."));
  let last = null;
  for await (const line of linesOf(response.body)) {
    last = JSON.parse(line);
    if ("offset" in last) onPart(last);
  }
  if (last && "error" in last) throw new Error(last.error);
  if (!last || "offset" in last) throw new TypeError("broken");
  return last;
}

/** The failure for the page. @param {unknown} error */
export function failureOf(error) {
  if (error instanceof TypeError) return gettext("The server cannot be reached. Try again.");
  return error instanceof Error ? error.message : String(error);
}

/** @param {ReadableStream<Uint8Array>} body */
async function* linesOf(body) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
