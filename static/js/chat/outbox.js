/**
 * What the server has not acknowledged yet, and the draft: kept in the browser until it has.
 *
 * Every call reads and writes the storage itself, so that two tabs of one dialogue share one outbox.
 *
 * @typedef {import("./store.js").Answers} Answers
 * @typedef {import("./store.js").Frame} Frame
 * @typedef {{draft: string, turn: {key: string, text: string} | null, labels: Record<string, Answers>}} Held
 */

/**
 * The server may store more than was asked ("not specific" for what makes no sense).
 *
 * @param {Answers} sent
 * @param {Answers | undefined} saved
 */
function isSaved(sent, saved) {
  return saved !== undefined && Object.entries(sent).every(([key, value]) => saved[key] === value);
}

export class Outbox {
  /**
   * @param {Pick<Storage, "getItem" | "setItem" | "removeItem">} storage
   * @param {string} dialogue
   */
  constructor(storage, dialogue) {
    this.storage = storage;
    this.name = `turnwise:${dialogue}`;
  }

  /** @returns {Held} */
  get held() {
    return { draft: "", turn: null, labels: {}, ...JSON.parse(this.storage.getItem(this.name) ?? "{}") };
  }

  /** @param {Partial<Held>} change */
  keep(change) {
    this.storage.setItem(this.name, JSON.stringify({ ...this.held, ...change }));
  }

  get isEmpty() {
    const { turn, labels } = this.held;
    return turn === null && Object.keys(labels).length === 0;
  }

  /** @param {string} text */
  keepDraft(text) {
    this.keep({ draft: text });
  }

  /**
   * The draft becomes a turn under way.
   *
   * @param {string} key
   * @param {string} text
   */
  holdTurn(key, text) {
    this.keep({ turn: { key, text }, draft: "" });
  }

  /**
   * @param {number} position
   * @param {Answers} answers
   */
  holdLabel(position, answers) {
    this.keep({ labels: { ...this.held.labels, [position]: answers } });
  }

  /** @param {number} position */
  dropLabel(position) {
    const { [position]: _, ...labels } = this.held.labels;
    this.keep({ labels });
  }

  /** The frames to send (again), oldest need first. @returns {Frame[]} */
  frames() {
    const { turn, labels } = this.held;
    /** @type {Frame[]} */
    const frames = Object.entries(labels).map(([position, answers]) => ({
      type: "label",
      position: Number(position),
      answers,
    }));
    return turn ? [...frames, { type: "turn", ...turn }] : frames;
  }

  /**
   * Let go of what this frame acknowledges or refuses. The text of a refused turn goes back into the draft.
   *
   * @param {Frame} frame
   */
  settle(frame) {
    if (frame.type === "state") this.settleState(frame);
    if (frame.type === "turn_saved" && frame.turn.key === this.held.turn?.key) this.keep({ turn: null });
    if (frame.type === "label_saved") this.settleLabel(frame.position, frame.answers);
    if (frame.type === "refused") this.settleRefusal(frame);
  }

  /** @param {Frame} state */
  settleState(state) {
    if (state.finished) return this.forget();
    if (state.turns.some((/** @type {any} */ turn) => turn.key && turn.key === this.held.turn?.key)) {
      this.keep({ turn: null });
    }
    for (const [position, answers] of Object.entries(state.labels)) this.settleLabel(Number(position), answers);
  }

  /**
   * @param {number} position
   * @param {Answers} answers
   */
  settleLabel(position, answers) {
    const sent = this.held.labels[position];
    if (sent && isSaved(sent, answers)) this.dropLabel(position);
  }

  /** @param {Frame} refusal */
  settleRefusal(refusal) {
    const { turn, draft } = this.held;
    if (turn && refusal.key === turn.key) {
      this.keep({ turn: null, draft: draft ? `${turn.text}\n${draft}` : turn.text });
    }
    if (refusal.position !== undefined) this.dropLabel(refusal.position);
  }

  forget() {
    this.storage.removeItem(this.name);
  }
}

/**
 * The browser's storage, or one that lasts as long as the page where the browser forbids it.
 *
 * @returns {Pick<Storage, "getItem" | "setItem" | "removeItem">}
 */
export function lastingStorage() {
  try {
    localStorage.setItem("turnwise:probe", "");
    localStorage.removeItem("turnwise:probe");
    return localStorage;
  } catch {
    /** @type {Map<string, string>} */
    const values = new Map();
    return {
      getItem: (name) => values.get(name) ?? null,
      setItem: (name, value) => void values.set(name, value),
      removeItem: (name) => void values.delete(name),
    };
  }
}
