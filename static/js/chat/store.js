/**
 * What is known of the dialogue, as the server told it. Pure: no DOM, no socket, no clock.
 *
 * @typedef {string | number | boolean} Value
 * @typedef {Record<string, Value>} Answers  question key → chosen value
 * @typedef {{position: number, speaker: "human" | "bot", text: string, counted: boolean,
 *            key: string | null, at: string}} Turn
 * @typedef {{turns: number, min_turns: number, max_turns: number, labelled: number, labels_needed: number,
 *            unlabelled: number[], thinking: boolean, may_send: boolean, may_finish: boolean,
 *            hint: string}} Progress
 * @typedef {{say: string, attempts: number, may_give_up: boolean}} Fault
 * @typedef {{turns: Turn[], labels: Record<string, Answers>, fault: Fault | null, progress: Progress | null,
 *            finished: string | null, refusal: string | null}} Dialogue
 * @typedef {{type: string, [field: string]: any}} Frame  one JSON message of the socket
 */

/** @type {Readonly<Dialogue>} */
export const UNKNOWN = Object.freeze({
  turns: [],
  labels: {},
  fault: null,
  progress: null,
  finished: null,
  refusal: null,
});

/**
 * @param {Turn[]} turns
 * @param {Turn} turn
 */
function withTurn(turns, turn) {
  const others = turns.filter((known) => known.position !== turn.position);
  return [...others, turn].sort((a, b) => a.position - b.position);
}

/**
 * Frames of two tabs may cross. Turns and labels only ever grow in number, so their sum tells which came later.
 *
 * @param {Progress | null} known
 * @param {Progress | undefined} told
 */
function later(known, told) {
  if (!known || !told) return told ?? known;
  return told.turns + told.labelled < known.turns + known.labelled ? known : told;
}

/** @type {Record<string, (known: Dialogue, frame: Frame) => Partial<Dialogue>>} */
const CHANGES = {
  state: (_, { turns, labels, fault, finished }) => ({ turns, labels, fault, finished, refusal: null }),
  turn_saved: (known, { turn }) => ({ turns: withTurn(known.turns, turn), fault: null, refusal: null }),
  bot_turn: (known, { turn }) => ({ turns: withTurn(known.turns, turn), fault: null }),
  bot_failed: (_, { fault }) => ({ fault }),
  label_saved: (known, { position, answers }) => ({
    labels: { ...known.labels, [position]: answers },
    refusal: null,
  }),
  refused: (_, { say }) => ({ refusal: say }),
};

/**
 * The dialogue after one frame of the server. A frame of an unknown type changes nothing.
 *
 * @param {Dialogue} known
 * @param {Frame} frame
 * @returns {Dialogue}
 */
export function receive(known, frame) {
  const change = Object.hasOwn(CHANGES, frame.type) ? CHANGES[frame.type] : null;
  if (!change) return known;
  return { ...known, ...change(known, frame), progress: later(known.progress, frame.progress) };
}
