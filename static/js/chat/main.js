/** The chat page: what is known, what is under way, and the parts that show it. */

import { openQuestion, withAnswer } from "./answers.js";
import { Composer } from "./composer.js";
import { Connection } from "./connection.js";
import { showConnection } from "./connection_line.js";
import { byId, make } from "./dom.js";
import { listenToKeys } from "./keyboard.js";
import { lastingStorage, Outbox } from "./outbox.js";
import { showCounts, showTrack } from "./progress.js";
import { Follower } from "./scroll.js";
import { receive, UNKNOWN } from "./store.js";
import { TurnList } from "./turns.js";
import { Alerts } from "./alerts.js";

/**
 * @typedef {import("./store.js").Answers} Answers
 * @typedef {import("./store.js").Dialogue} Dialogue
 * @typedef {import("./store.js").Frame} Frame
 * @typedef {import("./store.js").Turn} Turn
 * @typedef {import("./answers.js").Question} Question
 * @typedef {import("./answers.js").Value} Value
 * @typedef {{socket: string, questions: Question[], max_chars: number, dialogue: string}} Settings
 */

const ANSWERS_TO_A_REQUEST = new Set(["state", "bot_turn", "bot_failed", "refused"]);

class Chat {
  /** @param {Settings} settings */
  constructor(settings) {
    const storage = lastingStorage();
    this.questions = settings.questions;
    this.outbox = new Outbox(storage, settings.dialogue);
    /** @type {Dialogue} */
    this.known = UNKNOWN;
    /** Answers begun, with a question still open. @type {Map<number, Answers>} */
    this.begun = new Map();
    this.isFinishing = false;
    this.isRetrying = false;

    this.page = byId("chat");
    this.alerts = new Alerts({
      retry: () => this.retry(),
      giveUp: () => this.end("give_up"),
      finish: () => this.end("finish"),
    });
    this.follower = new Follower(byId("new-reply"));
    this.list = new TurnList(byId("turns"), {
      questions: this.questions,
      botName: this.page.dataset.botName ?? "Chatbot",
      onAnswer: (position, key, value, event) => this.answer(position, key, value, event),
    });
    this.composer = new Composer(
      { form: byId("composer"), box: byId("message"), send: byId("send"), count: byId("count") },
      {
        maxChars: settings.max_chars,
        onDraft: (text) => this.outbox.keepDraft(text),
        onSend: (text) => this.send(text),
      },
    );
    listenToKeys({
      openGroup: () => this.openGroup(),
      focusMessage: () => this.composer.focus(),
      storage,
      toggle: byId("single-keys"),
    });
    for (const { wording, help } of this.questions) {
      byId("explained").append(make("dt", {}, wording), make("dd", {}, help));
    }
    byId("unready").remove();
    this.page.hidden = false;
    this.composer.text = this.outbox.held.draft;
    this.connection = new Connection(settings.socket, {
      onFrame: (frame) => this.heard(frame),
      onState: () => this.render(),
    });
  }

  // --- what the server says ---

  /** @param {Frame} frame */
  heard(frame) {
    const isFirst = this.known.progress === null;
    this.outbox.settle(frame);
    this.known = receive(this.known, frame);
    if (ANSWERS_TO_A_REQUEST.has(frame.type)) this.isFinishing = this.isRetrying = false;
    if (frame.type === "state") this.outbox.frames().forEach((held) => this.connection.send(held));
    if (frame.type === "refused" && frame.key) this.composer.text = this.outbox.held.draft;
    if (this.known.finished) return this.leave(this.known.finished);
    this.render();
    this.follow(frame, isFirst);
  }

  /**
   * @param {Frame} frame
   * @param {boolean} isFirst
   */
  follow(frame, isFirst) {
    if (frame.type === "bot_turn") {
      this.alerts.announce(`${this.page.dataset.botName}: ${frame.turn.text}`);
      this.offerQuestion();
    }
    if (isFirst) this.follower.toEnd();
    else if (["bot_turn", "turn_saved", "bot_failed"].includes(frame.type)) {
      this.follower.added(frame.type === "bot_turn");
    }
  }

  /** @param {string} url */
  leave(url) {
    this.connection.leave("ended");
    this.outbox.forget();
    this.alerts.leaving(url);
    location.replace(url);
  }

  // --- what the worker does ---

  /** @param {string} text */
  send(text) {
    const group = this.openGroup();
    if (!this.maySend && group) return group.focus();
    if (!this.maySend || !text.trim() || this.composer.isTooLong) return this.render();
    this.outbox.holdTurn(crypto.randomUUID?.() ?? fallbackKey(), text.trim());
    this.composer.text = "";
    const turn = this.outbox.frames().find((frame) => frame.type === "turn");
    if (turn) this.connection.send(turn);
    this.render();
    this.follower.toEnd();
  }

  /**
   * @param {number} position
   * @param {string} key
   * @param {Value} value
   * @param {Event} event
   */
  answer(position, key, value, event) {
    const wasOpen = openQuestion(this.questions, this.answersOf(position)) !== null;
    const answers = withAnswer(this.questions, this.answersOf(position), key, value);
    const open = openQuestion(this.questions, answers);
    if (open) {
      this.begun.set(position, answers);
      this.outbox.dropLabel(position);
    } else {
      this.begun.delete(position);
      this.outbox.holdLabel(position, answers);
      this.connection.send({ type: "label", position, answers });
    }
    this.render();
    this.follower.added(false);
    if (open) this.list.group(position, open.key)?.focus();
    else if (wasOpen) this.moveOn(event);
  }

  /** After the last answer under a reply: to the message, or to the next question where nothing can be written. */
  moveOn(/** @type {Event} */ event) {
    const next = this.openGroup();
    if (next && !this.known.progress?.may_send) next.focus();
    else if (wantsMessageBox(event)) this.composer.focus();
  }

  retry() {
    this.isRetrying = this.connection.send({ type: "retry" });
    this.render();
  }

  /** @param {"finish" | "give_up"} type */
  end(type) {
    this.isFinishing = this.connection.send({ type });
    this.render();
  }

  // --- what follows from both ---

  get maySend() {
    return Boolean(this.known.progress?.may_send) && this.outbox.held.turn === null;
  }

  /** @param {number} position @returns {Answers} */
  answersOf(position) {
    return this.begun.get(position) ?? this.outbox.held.labels[position] ?? this.known.labels[position] ?? {};
  }

  /** The group of the first question that waits for an answer. */
  openGroup() {
    for (const turn of this.known.turns) {
      if (turn.speaker !== "bot" || !turn.counted) continue;
      const open = openQuestion(this.questions, this.answersOf(turn.position));
      if (open) return this.list.group(turn.position, open.key);
    }
    return null;
  }

  /** Move to the question of a reply that must be answered now, unless the worker is writing. */
  offerQuestion() {
    const isFree = document.activeElement === document.body || document.activeElement?.id === "message";
    if (isFree && !this.composer.text && !this.known.progress?.may_send) {
      this.openGroup()?.focus({ preventScroll: true });
    }
  }

  render() {
    const { turns, progress, fault, refusal } = this.known;
    const { turn: pending } = this.outbox.held;
    const isOpen = this.connection?.state === "open";
    this.list.show(
      turns,
      (turn) => this.judgmentOf(turn, isOpen),
      pending && { text: pending.text, mark: isOpen ? "Sending …" : "Not sent yet", isBad: !isOpen },
    );
    showConnection(this.connection?.state ?? "connecting", "what you write is");
    this.alerts.showRefusal(refusal);
    this.alerts.showFault(this.isRetrying ? null : fault, isOpen);
    this.composer.unlock(this.maySend);
    if (!progress) return;
    this.alerts.showThinking(this.isRetrying || (progress.thinking && !fault));
    this.alerts.showHint(this.hint(progress.hint), this.maySend || progress.thinking);
    const isSaved = this.outbox.isEmpty && this.begun.size === 0;
    this.alerts.showFinish(progress.may_finish && isOpen && isSaved && !this.isFinishing);
    showTrack(byId("track"), progress, turns);
    showCounts(byId("turns-text"), byId("labels-text"), progress);
  }

  /** @param {string} serverHint */
  hint(serverHint) {
    if (this.outbox.held.turn) {
      return this.connection.state === "open" ? "Your message is being sent." : "Your message is kept and sent later.";
    }
    if (this.composer.isTooLong) return "Shorten your message to send it.";
    const isAllAnswered = this.openGroup() === null;
    if (!isAllAnswered && this.known.progress?.may_finish) return "A question is open again: answer it, then finish or go on.";
    if (isAllAnswered && Object.keys(this.outbox.held.labels).length) return "Your answer is being saved.";
    return serverHint;
  }

  /**
   * @param {Turn} turn
   * @param {boolean} isOpen
   */
  judgmentOf({ position }, isOpen) {
    const answers = this.answersOf(position);
    const isHeld = position in this.outbox.held.labels;
    let mark = "";
    if (this.begun.has(position)) mark = position in this.known.labels ? "Not saved yet: one more answer" : "";
    else if (isHeld) mark = isOpen ? "Saving …" : "Not saved yet: waiting for the connection";
    else if (position in this.known.labels) mark = "Saved";
    return { answers, mark, isBad: isHeld && !isOpen };
  }
}

/** On a touch screen, focus in the message box would push the keyboard up. @param {Event} event */
function wantsMessageBox(event) {
  const byKeyboard = event instanceof MouseEvent && event.detail === 0;
  return byKeyboard || !matchMedia("(pointer: coarse)").matches;
}

/** crypto.randomUUID exists only under https and on localhost. */
function fallbackKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

new Chat(JSON.parse(byId("chat-settings").textContent ?? "{}"));
