/**
 * Decides when an answer counts: only after the worker has had the time to read what it is about.
 *
 * A subject (a reply, an item) is met once; a question about it comes up, waits, and is answered. Time on screen
 * is time in which the page could be seen. Knows no DOM but the page's visibility.
 *
 * @typedef {{shown_ms: number, answer_ms: number}} Timing
 *   time that the questions were on screen; time from the subject being shown to the answer
 * @typedef {{at: number, seen: number, length: number, isRead: boolean}} Subject
 */

/** Time after a question appears; an earlier click was aimed at what was there before. */
export const CLICKS_AFTER_MS = 350;
/** Time after a question appears; an earlier key was meant for something else. */
export const KEYS_AFTER_MS = 700;
/** Least reading time of a character: four times the speed of a fast reader. */
export const MS_PER_CHARACTER = 8;
export const LONGEST_MS = 6000;

/** The least time for which a text is shown before keys judge it. @param {number} length in characters */
export function leastMs(length) {
  return Math.min(KEYS_AFTER_MS + MS_PER_CHARACTER * length, LONGEST_MS);
}

/** Milliseconds for which the page could be seen, as a function. */
export function timeInSight() {
  let before = 0;
  let since = document.hidden ? null : performance.now();
  document.addEventListener("visibilitychange", () => {
    const now = performance.now();
    if (since !== null) before += now - since;
    since = document.hidden ? null : now;
  });
  return () => before + (since === null ? 0 : performance.now() - since);
}

export class Attention {
  /** @param {() => void} onChange  called when clicks or keys begin to count */
  constructor(onChange) {
    this.onChange = onChange;
    this.inSight = timeInSight();
    /** @type {Map<string, Subject>} */
    this.subjects = new Map();
    /** @type {{subject: string, question: string, since: number, begun: number} | null} */
    this.current = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    document.addEventListener("visibilitychange", () => {
      this.wakeUp();
      if (!document.hidden) this.onChange(); // a time may have passed just before the page was hidden
    });
  }

  /**
   * Record that the subject is on the page. Safe to repeat.
   *
   * @param {string} subject
   * @param {number} length  characters that are to be read
   */
  meet(subject, length) {
    if (this.subjects.has(subject)) return;
    this.subjects.set(subject, { at: performance.now(), seen: this.inSight(), length, isRead: false });
    if (this.current?.subject === subject) this.wakeUp(); // it was asked about before
  }

  /** Another text stands in its place, which has to be read as well. @param {string} subject */
  forget(subject) {
    this.subjects.delete(subject);
  }

  /** The end of the subject has been in view. @param {string} subject */
  read(subject) {
    const entry = this.subjects.get(subject);
    if (!entry || entry.isRead) return;
    entry.isRead = true;
    this.onChange();
  }

  /** @param {string} subject */
  isRead(subject) {
    return this.subjects.get(subject)?.isRead ?? false;
  }

  /**
   * This question waits for an answer from now on; null: none does. Safe to repeat.
   *
   * @param {string | null} subject
   * @param {string} question
   */
  ask(subject, question = "") {
    if (subject === null) return void (this.current = null);
    const { current } = this;
    if (current?.subject === subject && current.question === question) return;
    const since = this.inSight();
    this.current = { subject, question, since, begun: current?.subject === subject ? current.begun : since };
    this.wakeUp();
  }

  /** Time for which the question has been on screen. */
  get waited() {
    return this.current ? this.inSight() - this.current.since : 0;
  }

  get mayClick() {
    return this.current !== null && this.isRead(this.current.subject) && this.waited >= CLICKS_AFTER_MS;
  }

  get mayPress() {
    if (!this.mayClick || !this.current) return false;
    return this.waited >= KEYS_AFTER_MS && this.toRead(this.current.subject) <= 0;
  }

  /** Time for which the subject must still be shown. @param {string} subject */
  toRead(subject) {
    const entry = this.subjects.get(subject);
    return entry ? leastMs(entry.length) - (this.inSight() - entry.seen) : 0;
  }

  /** Timing of the current answer. @returns {Timing} */
  timing() {
    const { current } = this;
    if (!current) return { shown_ms: 0, answer_ms: 0 };
    const at = this.subjects.get(current.subject)?.at ?? performance.now();
    return {
      shown_ms: Math.round(this.inSight() - current.begun),
      answer_ms: Math.round(performance.now() - at),
    };
  }

  /** Call `onChange` at the next time at which clicks or keys begin to count. */
  wakeUp() {
    clearTimeout(this.timer);
    if (!this.current || document.hidden) return;
    const moments = [CLICKS_AFTER_MS - this.waited, KEYS_AFTER_MS - this.waited, this.toRead(this.current.subject)];
    const next = Math.min(...moments.filter((moment) => moment > 0));
    if (!Number.isFinite(next)) return;
    this.timer = setTimeout(() => {
      this.wakeUp(); // first: a time that passes during the change would be missed after it
      this.onChange();
    }, Math.ceil(next) + 1);
  }
}
