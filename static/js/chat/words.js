/** Texts about the progress of the conversation, the next step, and the reason why it cannot be finished yet. */

import { hasKeyboard } from "../kit/composer.js";
import { gettext } from "../kit/gettext.js";
import { judgedInWords, whyLocked } from "../kit/status.js";
import { partsOf } from "../kit/subjects.js";
import { whyNotFinish } from "./store.js";

/**
 * @typedef {import("./labels.js").Labels} Labels
 * @typedef {import("./work.js").Work} Work
 * @typedef {import("../kit/composer.js").Composer} Composer
 */

/**
 * Why the conversation cannot be finished now; "" if it can.
 *
 * @param {Work} work
 * @param {Labels} labels
 */
export function obstacleTo({ dialogue: { progress, fault }, isOpen, isRating, isFinishing, outbox }, labels) {
  if (!progress) return gettext("Connecting …");
  if (fault) return gettext("The chatbot could not answer: let it try again.");
  const obstacle = whyNotFinish(progress, {
    judged: labels.count.done,
    unjudged: labels.unjudged.length,
    areJudged: labels.asks.judgesTurns,
  });
  if (obstacle) return obstacle;
  if (!isOpen) return gettext("Not connected: finish when the connection is back.");
  if (!outbox.isEmpty) return gettext("Your last answer is being saved.");
  if (labels.unrated.length) return isRating ? gettext("Answer the questions, then finish.") : "";
  if (!progress.may_finish) return gettext("Your last answer is being saved.");
  return isFinishing ? gettext("Finishing …") : labels.asking.current ? gettext("Answer the question, then finish.") : "";
}

/**
 * @param {Labels} labels
 */
export function progressInWords({ count, asks }) {
  if (!count.isAll) return gettext("Reply %(n)s of %(all)s", { n: count.done + 1, all: count.of });
  return asks.judgesTurns ? judgedInWords(count) : gettext("Long enough");
}

/**
 * What to do next.
 *
 * @param {Work} work
 * @param {Labels} labels
 * @param {Composer} composer
 */
export function hintOf({ dialogue, isOpen, outbox, hasLostMarks }, { asking: { current, attention, wasEarly }, mode }, composer) {
  if (mode === "ask" && current) {
    if (wasEarly) return whyLocked();
    if (!attention.isRead(current.subject)) return gettext("Read the reply to the end, then answer.");
    if (dialogue.progress?.closing) return gettext("Your partner has finished. Please answer what is left, then finish too.");
    if (partsOf(current.subject).position === null) return gettext("About the whole conversation. Scroll up to read it again.");
    if (!composer.text) return gettext("You can change your answer later.");
    return hasKeyboard() ? gettext("What you have written is kept; Esc goes back to it.") : gettext("What you have written is kept.");
  }
  if (hasLostMarks) return gettext("Invisible direction marks were removed from your message.");
  if (outbox.held.turn) {
    return isOpen ? gettext("Your message is being sent.") : gettext("Your message is kept and will be sent later.");
  }
  if (composer.isTooLong) return gettext("Shorten your message to send it.");
  if (mode === "both") return hasKeyboard() ? gettext("Answer the question first: Esc goes to it.") : gettext("Answer the question first.");
  return outbox.isEmpty ? (dialogue.progress?.hint ?? "") : "";
}
