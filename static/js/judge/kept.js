/**
 * Answers that the server has not acknowledged yet: kept in the browser until it has.
 *
 * @typedef {import("./store.js").Answers} Answers
 * @typedef {import("./store.js").Frame} Frame
 */

export class Kept {
  /**
   * @param {Pick<Storage, "getItem" | "setItem" | "removeItem">} storage
   * @param {string} batch
   */
  constructor(storage, batch) {
    this.storage = storage;
    this.name = `turnwise:batch:${batch}`;
  }

  /** By item. @returns {Record<string, Answers>} */
  get answers() {
    return JSON.parse(this.storage.getItem(this.name) ?? "{}");
  }

  get isEmpty() {
    return Object.keys(this.answers).length === 0;
  }

  /**
   * @param {string} item
   * @param {Answers} answers
   */
  hold(item, answers) {
    this.storage.setItem(this.name, JSON.stringify({ ...this.answers, [item]: answers }));
  }

  /** @param {string} item */
  drop(item) {
    const { [item]: _, ...others } = this.answers;
    this.storage.setItem(this.name, JSON.stringify(others));
  }

  /** The frames to send (again). @returns {Frame[]} */
  frames() {
    return Object.entries(this.answers).map(([item, answers]) => ({ type: "judge", item, answers }));
  }

  /**
   * Let go of what this frame acknowledges or refuses. An answer that was changed meanwhile stays.
   *
   * @param {Frame} frame
   */
  settle(frame) {
    if (frame.type === "refused" && frame.item) this.drop(frame.item);
    if (frame.type !== "judged") return;
    const sent = this.answers[frame.item];
    if (sent && Object.entries(sent).every(([key, value]) => frame.answers[key] === value)) this.drop(frame.item);
  }

  forget() {
    this.storage.removeItem(this.name);
  }
}
