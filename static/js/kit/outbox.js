/**
 * Drafts and frames that the server has not acknowledged, stored in the browser until it has.
 *
 * Every call reads and writes the storage itself, so that two tabs of one conversation share one outbox.
 *
 * @typedef {import("./answers.js").Answers} Answers
 * @typedef {import("./attention.js").Timing} Timing
 * @typedef {{type: string, [field: string]: any}} Frame  one JSON message of the socket
 * @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem">} Store
 * @typedef {{drafts: Record<string, string>, turn: {key: string, text: string, typed?: import("./rhythm.js").Typed, picture?: string, description?: string} | null, labels: Record<string, Answers>,
 *            timings: Record<string, Timing>, begun: Record<string, Answers>}} Held
 *   labels, timings and answers that are begun by subject, drafts by what they answer
 */

import { isSame } from "./answers.js";
import { partsOf, subjectOf } from "./subjects.js";

/** Name of the draft of the next message. */
const MESSAGE = "";

/** @type {Readonly<Held>} */
const EMPTY = Object.freeze({ drafts: {}, turn: null, labels: {}, timings: {}, begun: {} });

/**
 * The server may store more than was asked ("not specific" for what makes no sense).
 *
 * @param {Answers} sent
 * @param {Answers | undefined} saved
 */
function isSaved(sent, saved) {
  return saved !== undefined && Object.entries(sent).every(([key, answer]) => isSame(saved[key], answer));
}

/**
 * The labels that a frame says are stored, by subject.
 *
 * @param {Frame} frame
 * @returns {Record<string, Answers>}
 */
function storedIn(frame) {
  if (frame.type === "label_saved") return { [subjectOf(frame.position, frame.ask)]: frame.answers };
  if (frame.type === "judged") return { [frame.item]: frame.answers };
  if (frame.type === "written") return { [frame.item]: { text: frame.text } };
  if (frame.type !== "state") return {};
  const judged = (frame.judged ?? []).map((/** @type {any} */ { key, answers }) => [key, answers]);
  const annotated = (frame.annotations ?? []).map((/** @type {any} */ { position, ask, answers }) => [subjectOf(position, ask), answers]);
  const responses = (frame.written ?? []).map((/** @type {any} */ { key, text }) => [key, { text }]);
  return Object.fromEntries([...annotated, ...judged, ...responses]);
}

export class Outbox {
  /**
   * @param {Store} storage
   * @param {string} name  of the conversation or batch
   * @param {(subject: string, answers: Answers) => Frame} labelFrame
   */
  constructor(storage, name, labelFrame) {
    this.storage = storage;
    this.name = `turnwise:${name}`;
    this.labelFrame = labelFrame;
    /** Cache of the stored text, which the page reads for every turn. */
    this.stored = "{}";
    /** @type {Held} */
    this.read = { ...EMPTY };
  }

  /** @returns {Held} */
  get held() {
    const stored = this.storage.getItem(this.name) ?? "{}";
    if (stored !== this.stored) this.read = { ...EMPTY, ...JSON.parse(stored) };
    this.stored = stored;
    return this.read;
  }

  /** @param {Partial<Held>} change */
  keep(change) {
    this.storage.setItem(this.name, JSON.stringify({ ...this.held, ...change }));
  }

  get isEmpty() {
    const { turn, labels } = this.held;
    return turn === null && Object.keys(labels).length === 0;
  }

  /** @param {string} text @param {string} [of] name of the draft, if there are several */
  keepDraft(text, of = MESSAGE) {
    const { [of]: _, ...others } = this.held.drafts;
    this.keep({ drafts: text ? { ...others, [of]: text } : others });
  }

  /** @param {string} [of] */
  draftOf(of = MESSAGE) {
    return this.held.drafts[of] ?? "";
  }

  /**
   * Answers to the first questions about a subject that has none yet.
   *
   * @param {string} subject
   * @param {Answers | null} answers  null: none are begun any more
   */
  keepBegun(subject, answers) {
    const { [subject]: _, ...others } = this.held.begun;
    this.keep({ begun: answers ? { ...others, [subject]: answers } : others });
  }

  /** @param {string} subject @returns {Answers | null} */
  begunOf(subject) {
    return this.held.begun[subject] ?? null;
  }

  /**
   * Turn the draft into a turn that is being sent.
   *
   * @param {string} key
   * @param {string} text
   * @param {import("./rhythm.js").Typed | null} [typed]
   * @param {{picture: string, description?: string}} [picture]  hash of an uploaded picture, and its description
   */
  holdTurn(key, text, typed, picture) {
    this.keep({ turn: { key, text, ...(typed && { typed }), ...picture } });
    this.keepDraft("");
  }

  /**
   * @param {string} subject
   * @param {Answers} answers
   * @param {Timing} [timing]
   */
  holdLabel(subject, answers, timing) {
    const { labels, timings } = this.held;
    this.keep({
      labels: { ...labels, [subject]: answers },
      timings: timing ? { ...timings, [subject]: timing } : timings,
    });
  }

  /** @param {string} subject */
  dropLabel(subject) {
    const { [subject]: _, ...labels } = this.held.labels;
    const { [subject]: __, ...timings } = this.held.timings;
    this.keep({ labels, timings });
  }

  /** Let go of all answers to a turn, sent or begun: its text has changed. @param {number} position */
  dropAnswersTo(position) {
    const { labels, begun } = this.held;
    const isOther = (/** @type {string} */ subject) => partsOf(subject).position !== position;
    Object.keys(labels).filter((subject) => !isOther(subject)).forEach((subject) => this.dropLabel(subject));
    this.keep({ begun: Object.fromEntries(Object.entries(begun).filter(([subject]) => isOther(subject))) });
  }

  /** The frame of a label that is held, if it is. @param {string} subject @returns {Frame | null} */
  frameOf(subject) {
    const { labels, timings } = this.held;
    if (!labels[subject]) return null;
    return { ...this.labelFrame(subject, labels[subject]), ...(timings[subject] && { timing: timings[subject] }) };
  }

  /** The frames to send (again), oldest need first. @returns {Frame[]} */
  frames() {
    const { turn, labels } = this.held;
    const frames = /** @type {Frame[]} */ (Object.keys(labels).map((subject) => this.frameOf(subject)));
    return turn ? [...frames, { type: "turn", ...turn }] : frames;
  }

  /**
   * Remove what this frame acknowledges or refuses. The text of a refused turn goes back into the draft.
   *
   * @param {Frame} frame
   */
  settle(frame) {
    if (frame.type === "state" && frame.finished) return this.forget();
    if (frame.type === "refused") return this.settleRefusal(frame);
    const keys = [frame.turn, ...(frame.type === "state" ? (frame.turns ?? []) : [])].map((turn) => turn?.key);
    const { turn } = this.held;
    if (turn && keys.includes(turn.key)) this.keep({ turn: null });
    for (const [subject, answers] of Object.entries(storedIn(frame))) {
      const sent = this.held.labels[subject];
      if (sent && isSaved(sent, answers)) this.dropLabel(subject);
    }
  }

  /** @param {Frame} refusal */
  settleRefusal(refusal) {
    const { turn } = this.held;
    if (turn && refusal.key === turn.key) {
      const draft = this.draftOf();
      this.keep({ turn: null });
      this.keepDraft(draft ? `${turn.text}\n${draft}` : turn.text);
    }
    if (refusal.ask !== undefined) this.dropLabel(subjectOf(refusal.position, refusal.ask));
    else if (refusal.item !== undefined) this.dropLabel(String(refusal.item));
  }

  forget() {
    this.storage.removeItem(this.name);
  }
}

/** A storage that lasts as long as the page. @returns {Store} */
export function fleetingStorage() {
  /** @type {Map<string, string>} */
  const values = new Map();
  return {
    getItem: (name) => values.get(name) ?? null,
    setItem: (name, value) => void values.set(name, value),
    removeItem: (name) => void values.delete(name),
  };
}

/**
 * The browser's storage, or one that lasts as long as the page where the browser forbids it.
 *
 * @returns {Store}
 */
export function lastingStorage() {
  try {
    localStorage.setItem("turnwise:probe", "");
    localStorage.removeItem("turnwise:probe");
    return localStorage;
  } catch {
    return fleetingStorage();
  }
}
