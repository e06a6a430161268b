/** Questions in the dock whose answers stay in the browser until the page's form sends all of them together. */

import { Asking } from "./asking.js";
import { byId } from "./dom.js";
import { explain } from "./help.js";
import { listenToKeys } from "./keyboard.js";
import { lastingStorage } from "./outbox.js";

/**
 * @typedef {import("./answers.js").Question} Question
 * @typedef {object} Collected
 * @property {import("./outbox.js").Outbox} outbox  holds the answers
 * @property {(subject: string) => Question[]} questions  by subject
 * @property {Question[]} all  the questions of every subject, for the help
 * @property {string} first  the subject that comes first
 * @property {string} pageId  id of the element that is hidden until the page is ready
 * @property {() => string | null} waiting  the subject that is to be judged now
 * @property {(subject: string) => string} describedBy  ids of its text
 * @property {() => void} done  all is answered about a subject
 * @property {() => void} changed
 * @property {() => void} restart  starts over
 */

/**
 * Set up the dock with its keys and its help, and show the page.
 *
 * @param {Collected} collected
 */
export function collect({ outbox, questions, all, first, pageId, waiting, describedBy, done, changed, restart }) {
  const page = { waiting, saved: () => ({}), describedBy, send: () => undefined, done, changed };
  const asking = new Asking(questions, { dock: byId("dock"), place: byId("ask"), outbox, page });
  asking.keepRoom(first);
  listenToKeys({
    openGroup: () => asking.group,
    mayAnswer: () => asking.attention.mayPress,
    early: () => asking.onEarlyKey(),
    takeBack: () => asking.heldBack.takeBack(),
    takeText: null,
    escape: () => asking.focus(),
    storage: lastingStorage(),
    toggle: byId("single-keys"),
  });
  byId("again").addEventListener("click", restart);
  explain(all);
  byId("unready").remove();
  byId(pageId).hidden = false;
  return asking;
}

/** Put the answers into the form; a preview has none. @param {Record<string, unknown>} answers */
export function fillForm(answers) {
  const field = /** @type {HTMLInputElement | null} */ (document.getElementById("answers"));
  if (field) field.value = JSON.stringify(answers);
}
