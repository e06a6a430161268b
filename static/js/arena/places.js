/** Position of a vote, as a number that the outbox can keep: the comparison, and the messages so far. Pure. */

/** More than the messages of any conversation. */
const MOST = 1000;

/** @param {number | null} battle @param {number} exchange */
export function placeOf(battle, exchange) {
  return (battle ?? 0) * MOST + exchange;
}

/** @param {number | null} place @returns {{battle: number, exchange: number}} */
export function partsOfPlace(place) {
  return { battle: Math.floor((place ?? 0) / MOST), exchange: (place ?? 0) % MOST };
}
