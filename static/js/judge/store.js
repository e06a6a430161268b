/**
 * State of the batch, computed from the frames of the server. Pure: no DOM, no socket, no clock.
 *
 * @typedef {import("../kit/answers.js").Answers} Answers
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {{texts: string[], speaker?: number | null}} Side  speaker: in a conversation, the judged one of the two
 * @typedef {{key: string, ask?: number, context: string[], text?: string | null, sides?: Side[], language: string, asks_reason?: boolean,
 *            reading?: string, html?: {context: string[], text: string | null, sides: string[][]}}} Item  html: the texts formatted; reading: what is read beside it, as HTML
 * @typedef {{done: number, size: number, may_finish: boolean}} Progress
 * @typedef {{order: string[], items: Record<string, Item>, saved: Record<string, Answers>,
 *            progress: Progress | null, finished: string | null, refusal: string | null}} Batch
 */

/** @type {Readonly<Batch>} */
export const UNKNOWN = Object.freeze({
  order: [],
  items: {},
  saved: {},
  progress: null,
  finished: null,
  refusal: null,
});

/**
 * @param {Batch} batch
 * @param {Item[]} items
 */
function withItems(batch, items) {
  const fresh = items.map(({ key }) => key).filter((key) => !batch.order.includes(key));
  return {
    order: [...batch.order, ...fresh],
    items: { ...batch.items, ...Object.fromEntries(items.map((item) => [item.key, item])) },
  };
}

/**
 * Merge a state, which names the next items and those judged last. Items judged earlier on this page stay;
 * any other item was reassigned.
 *
 * @param {Batch} batch
 * @param {Frame} frame
 */
function withState(batch, { items, judged, progress, finished }) {
  const saved = { ...batch.saved };
  for (const { key, answers } of judged) saved[key] = answers;
  const received = [...judged, ...items];
  const keys = new Set(received.map(({ key }) => key));
  const order = batch.order.filter((key) => keys.has(key) || key in saved);
  return { ...withItems({ ...batch, order }, received), saved, progress, finished };
}

/** @type {Record<string, (known: Batch, frame: Frame) => Partial<Batch>>} */
const CHANGES = {
  state: withState,
  judged: (batch, { item, answers, leased, progress }) => ({
    ...withItems(batch, leased),
    saved: { ...batch.saved, [item]: answers },
    progress,
    refusal: null,
  }),
  refused: (_, { say }) => ({ refusal: say }),
};

/**
 * The batch after one frame of the server. A frame of an unknown type changes nothing.
 *
 * @param {Batch} batch
 * @param {Frame} frame
 * @returns {Batch}
 */
export function receive(batch, frame) {
  const change = Object.hasOwn(CHANGES, frame.type) ? CHANGES[frame.type] : null;
  return change ? { ...batch, ...change(batch, frame) } : batch;
}
