/**
 * Subject of an ask: a turn or the whole conversation, with the number of the ask. Pure.
 */

const WHOLE = "all";

/** @param {number | null | undefined} position  none: of the whole conversation @param {number} ask @returns {string} */
export function subjectOf(position, ask) {
  return `${position ?? WHOLE}:${ask}`;
}

/** @param {string} subject @returns {{position: number | null, ask: number}} */
export function partsOf(subject) {
  const [position, ask] = subject.split(":");
  return { position: position === WHOLE ? null : Number(position), ask: Number(ask) };
}
