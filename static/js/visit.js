/**
 * Says, once in each tab, that somebody has the first page of a study in sight.
 *
 * A preview of the link in a messenger runs no script, and a page that a browser loads ahead of a click is not in sight.
 */

import { byId } from "./kit/dom.js";

const form = /** @type {HTMLFormElement} */ (byId("visit"));
const what = `turnwise visit ${form.action} ${new FormData(form).get("visit")}`;

function isTold() {
  try {
    return sessionStorage.getItem(what) !== null;
  } catch {
    return false; // a browser that keeps nothing
  }
}

function tell() {
  if (document.visibilityState !== "visible" || isTold()) return;
  document.removeEventListener("visibilitychange", tell);
  try {
    sessionStorage.setItem(what, "");
  } catch {
    // then a reload counts again
  }
  fetch(form.action, { method: "POST", body: new FormData(form), keepalive: true }).catch(() => {});
}

document.addEventListener("visibilitychange", tell);
tell();
