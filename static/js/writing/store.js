/**
 * What is known of the work, as the server told it. Pure: no DOM, no socket, no clock.
 *
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {{key: string, turns: string[], language: string}} Item  a context
 * @typedef {{done: number, size: number, may_finish: boolean}} Progress
 * @typedef {{order: string[], items: Record<string, Item>, saved: Record<string, string>,
 *            progress: Progress | null, finished: string | null, refusal: string | null}} Work  saved: by context
 */

/** @type {Readonly<Work>} */
export const UNKNOWN = Object.freeze({ order: [], items: {}, saved: {}, progress: null, finished: null, refusal: null });

/** @param {Work} known @param {Item[]} told */
function withItems({ order, items }, told) {
  const fresh = told.map(({ key }) => key).filter((key) => !order.includes(key));
  return { order: [...order, ...fresh], items: { ...items, ...Object.fromEntries(told.map((item) => [item.key, item])) } };
}

/** @type {Record<string, (known: Work, frame: Frame) => Partial<Work>>} */
const CHANGES = {
  // A state tells everything; a context that it does not name has gone to somebody else.
  state: (_, { items, written, progress, finished }) => ({
    ...withItems(UNKNOWN, [...written, ...items]),
    saved: Object.fromEntries(written.map((/** @type {any} */ { key, text }) => [key, text])),
    progress,
    finished,
  }),
  written: (known, { item, text, items, progress }) => ({
    ...withItems(known, items),
    saved: { ...known.saved, [item]: text },
    progress,
    refusal: null,
  }),
  refused: (_, { say }) => ({ refusal: say }),
};

/**
 * The work after one frame of the server. A frame of an unknown type changes nothing.
 *
 * @param {Work} known
 * @param {Frame} frame
 * @returns {Work}
 */
export function receive(known, frame) {
  const change = Object.hasOwn(CHANGES, frame.type) ? CHANGES[frame.type] : null;
  return change ? { ...known, ...change(known, frame) } : known;
}
