/** How far the conversation is: one cell per turn, and the same in words. */

import { make, setText } from "./dom.js";

/**
 * @typedef {import("./store.js").Progress} Progress
 * @typedef {import("./store.js").Turn} Turn
 */

/**
 * @param {HTMLElement} track
 * @param {Progress} progress
 * @param {Turn[]} turns
 */
export function showTrack(track, progress, turns) {
  const counted = turns.filter((turn) => turn.counted);
  track.classList.toggle("is-dense", progress.max_turns > 60);
  while (track.children.length < progress.max_turns) track.append(make("i"));
  [...track.children].forEach((cell, index) => {
    const turn = counted[index];
    const isOpen = turn !== undefined && progress.unlabelled.includes(turn.position);
    cell.classList.toggle("is-human", turn?.speaker === "human");
    cell.classList.toggle("is-bot", turn?.speaker === "bot" && !isOpen);
    cell.classList.toggle("is-open", isOpen);
    cell.classList.toggle("is-beyond", index >= progress.min_turns);
  });
}

/**
 * @param {HTMLElement} turnsText
 * @param {HTMLElement} labelsText
 * @param {Progress} progress
 */
export function showCounts(turnsText, labelsText, { turns, min_turns, max_turns, labelled, labels_needed }) {
  const reached = turns >= min_turns;
  setText(turnsText, reached ? `${turns} turns of at most ${max_turns}.` : `${turns} of at least ${min_turns} turns.`);
  setText(labelsText, `${labelled} of ${Math.max(labels_needed, labelled)} replies judged.`);
}
