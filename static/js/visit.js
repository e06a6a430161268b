/**
 * Reports, once in each tab, that the first page of a study is visible.
 *
 * Link previews of messengers run no script, and a page that a browser preloads is not visible.
 */

import { byId } from "./kit/dom.js";

const form = /** @type {HTMLFormElement} */ (byId("visit"));
const storageKey = `turnwise visit ${form.action} ${new FormData(form).get("visit")}`;

function isReported() {
  try {
    return sessionStorage.getItem(storageKey) !== null;
  } catch {
    return false; // storage is blocked
  }
}

function report() {
  if (document.visibilityState !== "visible" || isReported()) return;
  document.removeEventListener("visibilitychange", report);
  try {
    sessionStorage.setItem(storageKey, "");
  } catch {
    // then a reload counts again
  }
  fetch(form.action, { method: "POST", body: new FormData(form), keepalive: true }).catch(() => {});
}

document.addEventListener("visibilitychange", report);
report();
