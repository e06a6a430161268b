/**
 * State of the work, computed from the frames of the server. Pure: no DOM, no socket, no clock.
 *
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {{key: string, turns: string[], language: string}} Item  a context
 * @typedef {{done: number, size: number, may_finish: boolean}} Progress
 * @typedef {{order: string[], items: Record<string, Item>, saved: Record<string, string>,
 *            progress: Progress | null, finished: string | null, refusal: string | null}} Work  saved: by context
 */

/** @type {Readonly<Work>} */
export const UNKNOWN = Object.freeze({ order: [], items: {}, saved: {}, progress: null, finished: null, refusal: null });

/** @param {Work} work @param {Item[]} received */
function withItems({ order, items }, received) {
  const fresh = received.map(({ key }) => key).filter((key) => !order.includes(key));
  return { order: [...order, ...fresh], items: { ...items, ...Object.fromEntries(received.map((item) => [item.key, item])) } };
}

/** @type {Record<string, (known: Work, frame: Frame) => Partial<Work>>} */
const CHANGES = {
  // A state is complete; a context that it does not name was reassigned.
  state: (_, { items, written, progress, finished }) => ({
    ...withItems(UNKNOWN, [...written, ...items]),
    saved: Object.fromEntries(written.map((/** @type {any} */ { key, text }) => [key, text])),
    progress,
    finished,
  }),
  written: (work, { item, text, items, progress }) => ({
    ...withItems(work, items),
    saved: { ...work.saved, [item]: text },
    progress,
    refusal: null,
  }),
  refused: (_, { say }) => ({ refusal: say }),
};

/**
 * The work after one frame of the server. A frame of an unknown type changes nothing.
 *
 * @param {Work} work
 * @param {Frame} frame
 * @returns {Work}
 */
export function receive(work, frame) {
  const change = Object.hasOwn(CHANGES, frame.type) ? CHANGES[frame.type] : null;
  return change ? { ...work, ...change(work, frame) } : work;
}
