/**
 * What is known of the batch, as the server told it. Pure: no DOM, no socket, no clock.
 *
 * @typedef {import("../kit/answers.js").Answers} Answers
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {{texts: string[], speaker?: number | null}} Side  speaker: of a conversation, who of the two is judged
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
 * @param {Batch} known
 * @param {Item[]} items
 */
function withItems(known, items) {
  const fresh = items.map(({ key }) => key).filter((key) => !known.order.includes(key));
  return {
    order: [...known.order, ...fresh],
    items: { ...known.items, ...Object.fromEntries(items.map((item) => [item.key, item])) },
  };
}

/**
 * A state names the items before the worker and those judged last. What was judged earlier on this page stays;
 * an item that is neither has gone to somebody else.
 *
 * @param {Batch} known
 * @param {Frame} frame
 */
function withState(known, { items, judged, progress, finished }) {
  const saved = { ...known.saved };
  for (const { key, answers } of judged) saved[key] = answers;
  const told = [...judged, ...items];
  const mine = new Set(told.map(({ key }) => key));
  const order = known.order.filter((key) => mine.has(key) || key in saved);
  return { ...withItems({ ...known, order }, told), saved, progress, finished };
}

/** @type {Record<string, (known: Batch, frame: Frame) => Partial<Batch>>} */
const CHANGES = {
  state: withState,
  judged: (known, { item, answers, leased, progress }) => ({
    ...withItems(known, leased),
    saved: { ...known.saved, [item]: answers },
    progress,
    refusal: null,
  }),
  refused: (_, { say }) => ({ refusal: say }),
};

/**
 * The batch after one frame of the server. A frame of an unknown type changes nothing.
 *
 * @param {Batch} known
 * @param {Frame} frame
 * @returns {Batch}
 */
export function receive(known, frame) {
  const change = Object.hasOwn(CHANGES, frame.type) ? CHANGES[frame.type] : null;
  return change ? { ...known, ...change(known, frame) } : known;
}
