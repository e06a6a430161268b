/**
 * State of the dialogue, computed from the frames of the server. Pure: no DOM, no socket, no clock.
 *
 * @typedef {import("../kit/answers.js").Answers} Answers
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {{position: number, speaker: "human" | "bot" | "partner", text: string, counted: boolean,
 *            key: string | null, html?: string}} Turn  html: the text formatted, if the study shows that
 * @typedef {{turns: number, min_turns: number, max_turns: number, labelled: number, labels_needed: number,
 *            unlabelled: number[], thinking: boolean, may_send: boolean, may_finish: boolean,
 *            room: number, closing: boolean, long_enough: boolean, hint: string}} Progress  room: turns that a message needs
 * @typedef {{left: boolean, away: boolean, away_seconds: number, may_end: boolean}} PartnerState  of the other person
 * @typedef {{say: string, attempts: number, may_give_up: boolean}} Fault
 * @typedef {{position: number, number: number, of: number}} Versions  of the last reply: the kept one, of how many
 * @typedef {{turns: Turn[], versions: Versions | null, labels: Record<string, Answers>, fault: Fault | null, isStarting: boolean, progress: Progress | null,
 *            partner: PartnerState | null, finished: string | null, refusal: string | null}} Dialogue
 */

import { gettext, ngettext } from "../kit/gettext.js";
import { subjectOf } from "../kit/subjects.js";

/** @type {Readonly<Dialogue>} */
export const UNKNOWN = Object.freeze({
  turns: [],
  versions: null,
  labels: {},
  fault: null,
  isStarting: false,
  progress: null,
  partner: null,
  finished: null,
  refusal: null,
});

/**
 * @param {Turn[]} turns
 * @param {Turn} turn
 */
function withTurn(turns, turn) {
  const others = turns.filter(({ position }) => position !== turn.position);
  return [...others, turn].sort((a, b) => a.position - b.position);
}

/**
 * Frames of two tabs may cross. Turns and labels only ever grow in number, so the greater sum is the later state.
 *
 * @param {Progress | null} current
 * @param {Progress | undefined} received
 */
function newest(current, received) {
  if (!current || !received) return received ?? current;
  return received.turns + received.labelled < current.turns + current.labelled ? current : received;
}

/**
 * The number of the reply at a position, among those to the same message.
 *
 * @param {Dialogue} dialogue
 * @param {number} position
 */
export function versionAt({ versions }, position) {
  return versions?.position === position ? versions.number : 1;
}

/** @param {{position: number | null, ask: number, answers: Answers}[]} annotations @returns {Record<string, Answers>} */
function bySubject(annotations) {
  return Object.fromEntries(annotations.map(({ position, ask, answers }) => [subjectOf(position, ask), answers]));
}

/** @type {Record<string, (known: Dialogue, frame: Frame) => Partial<Dialogue>>} */
const CHANGES = {
  state: (_, { turns, versions = null, annotations, fault, starting = false, finished }) => ({
    turns,
    versions,
    labels: bySubject(annotations),
    fault,
    isStarting: starting,
    finished,
    refusal: null,
  }),
  turn_saved: (dialogue, { turn }) => ({ turns: withTurn(dialogue.turns, turn), fault: null, isStarting: false, refusal: null }),
  bot_starting: () => ({ isStarting: true }),
  bot_turn: (dialogue, { turn, versions = null }) => ({ turns: withTurn(dialogue.turns, turn), versions, fault: null, isStarting: false }),
  regenerating: (dialogue, { position }) => ({
    turns: dialogue.turns.filter((turn) => turn.position < position),
    versions: null,
    fault: null,
    isStarting: false,
    refusal: null,
  }),
  partner_turn: (dialogue, { turn }) => ({ turns: withTurn(dialogue.turns, turn) }),
  partner: (_, { left, away, away_seconds, may_end }) => ({ partner: { left, away, away_seconds, may_end } }),
  bot_failed: (_, { fault }) => ({ fault, isStarting: false }),
  label_saved: (dialogue, label) => ({ labels: { ...dialogue.labels, ...bySubject([/** @type {any} */ (label)]) }, refusal: null }),
  refused: (_, { say }) => ({ refusal: say }),
};

/**
 * The dialogue after one frame of the server. A frame of an unknown type changes nothing.
 *
 * @param {Dialogue} dialogue
 * @param {Frame} frame
 * @returns {Dialogue}
 */
export function receive(dialogue, frame) {
  const change = Object.hasOwn(CHANGES, frame.type) ? CHANGES[frame.type] : null;
  if (!change) return dialogue;
  // While another reply is awaited, the conversation is shorter than it was.
  const isShorter = frame.type === "regenerating" || frame.regenerating;
  const progress = isShorter ? frame.progress : newest(dialogue.progress, frame.progress);
  return { ...dialogue, ...change(dialogue, frame), progress };
}

/** True if the dialogue has no turns left for a message. @param {Progress} progress */
export function isLastTurn({ turns, max_turns, thinking, room, closing }) {
  return !thinking && (closing || turns + room > max_turns);
}

/**
 * Why the protocol does not allow an end, in words for the button; "" if it does.
 *
 * @param {Progress} progress
 * @param {{judged: number, unjudged: number, areJudged: boolean}} replies  areJudged: whether replies are judged at all
 */
export function whyNotFinish({ thinking, labels_needed, room, turns, min_turns, long_enough }, { judged, unjudged, areJudged }) {
  const isWithBot = room === 2;
  const left = isWithBot ? labels_needed - judged : long_enough ? 0 : min_turns - turns;
  if (thinking && isWithBot) return gettext("The chatbot is writing: wait for its reply, then finish.");
  if (areJudged && isWithBot && left > unjudged) return toGo(left, areJudged);
  if (unjudged && !areJudged) {
    return ngettext("Judge the %(n)s message above, then finish.", "Judge the %(n)s messages above, then finish.", unjudged);
  }
  if (unjudged === 1) return gettext("Judge the last reply, then finish.");
  if (unjudged) return ngettext("Judge the %(n)s reply above, then finish.", "Judge the %(n)s replies above, then finish.", unjudged);
  if (left <= 0) return "";
  if (!isWithBot) {
    return ngettext("Keep talking: %(n)s more message between you, then finish.", "Keep talking: %(n)s more messages between you, then finish.", left);
  }
  return toGo(left, areJudged);
}

/** @param {number} left  replies @param {boolean} areJudged */
function toGo(left, areJudged) {
  if (areJudged) {
    return ngettext("Keep talking: %(n)s more reply to judge, then finish.", "Keep talking: %(n)s more replies to judge, then finish.", left);
  }
  return ngettext("Keep talking: %(n)s more reply, then finish.", "Keep talking: %(n)s more replies, then finish.", left);
}
