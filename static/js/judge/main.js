/** The judging page: one item after the other, the next ones already here. */

import { openQuestion, withAnswer } from "../chat/answers.js";
import { Connection } from "../chat/connection.js";
import { showConnection } from "../chat/connection_line.js";
import { byId, make, setText } from "../chat/dom.js";
import { listenToKeys } from "../chat/keyboard.js";
import { lastingStorage } from "../chat/outbox.js";
import { ItemView } from "./item.js";
import { Kept } from "./kept.js";
import { receive, UNKNOWN } from "./store.js";

/**
 * @typedef {import("./store.js").Answers} Answers
 * @typedef {import("./store.js").Batch} Batch
 * @typedef {import("./store.js").Frame} Frame
 * @typedef {import("../chat/answers.js").Question} Question
 * @typedef {import("../chat/answers.js").Value} Value
 * @typedef {{socket: string, batch: string, questions: Question[]}} Settings
 */

class Judging {
  /** @param {Settings} settings */
  constructor(settings) {
    const storage = lastingStorage();
    this.questions = settings.questions;
    this.kept = new Kept(storage, settings.batch);
    /** @type {Batch} */
    this.known = UNKNOWN;
    /** Answers begun, with a question still open. @type {Map<string, Answers>} */
    this.begun = new Map();
    /** The item before the worker; null: the next one that is not judged. @type {string | null} */
    this.chosen = null;
    /** @type {string | null} */
    this.shown = null;
    /** @type {ItemView | null} */
    this.view = null;
    this.isFinishing = false;

    this.listen(storage);
    for (const { wording, help } of this.questions) {
      byId("explained").append(make("dt", {}, wording), make("dd", {}, help));
    }
    byId("unready").remove();
    byId("judging").hidden = false;
    this.connection = new Connection(settings.socket, {
      onFrame: (frame) => this.heard(frame),
      onState: () => this.render(),
    });
  }

  /** @param {Storage | ReturnType<typeof lastingStorage>} storage */
  listen(storage) {
    listenToKeys({
      openGroup: () => this.openGroup(),
      focusMessage: () => this.focus(),
      storage,
      toggle: byId("single-keys"),
    });
    byId("back").addEventListener("click", () => this.go(-1));
    byId("next").addEventListener("click", () => this.go(1));
    byId("finish").addEventListener("click", () => this.finish());
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.target instanceof HTMLInputElement) return;
      if (event.key === "ArrowLeft") this.go(-1);
      if (event.key === "ArrowRight") this.go(1);
    });
  }

  // --- what the server says ---

  /** @param {Frame} frame */
  heard(frame) {
    this.kept.settle(frame);
    this.known = receive(this.known, frame);
    if (frame.type !== "judged") this.isFinishing = false;
    if (frame.type === "state") this.kept.frames().forEach((held) => this.connection.send(held));
    if (this.known.finished) return this.leave(this.known.finished);
    this.render();
  }

  /** @param {string} url */
  leave(url) {
    this.connection.leave("ended");
    this.kept.forget();
    const link = make("a", { href: url }, "Go to your completion code");
    byId("judging").replaceChildren(make("p", { class: "note", role: "status" }, "Finished; everything is saved. ", link));
    location.replace(url);
  }

  // --- what the worker does ---

  /**
   * @param {string} key
   * @param {Value} value
   */
  answer(key, value) {
    const item = this.current;
    if (item === null) return;
    const answers = withAnswer(this.questions, this.answersOf(item), key, value);
    if (openQuestion(this.questions, answers)) {
      this.begun.set(item, answers);
      this.kept.drop(item);
    } else {
      this.begun.delete(item);
      this.kept.hold(item, answers);
      this.connection.send({ type: "judge", item, answers });
      this.choose(this.neighbour(item, 1));
    }
    this.render();
    this.focus();
  }

  /** @param {1 | -1} step */
  go(step) {
    const to = this.neighbour(this.current, step);
    const isBeyond = step === 1 && (this.current === null || !this.isJudged(this.current));
    if (isBeyond || (step === -1 && to === null)) return;
    this.choose(to);
    this.render();
    this.focus();
  }

  /** Judged items are chosen by name; the one that is next to judge follows from what is known. */
  choose(/** @type {string | null} */ item) {
    this.chosen = item !== null && this.isJudged(item) ? item : null;
  }

  finish() {
    this.isFinishing = this.connection.send({ type: "finish" });
    this.render();
  }

  // --- what follows from both ---

  /** @param {string} item @returns {Answers} */
  answersOf(item) {
    return this.begun.get(item) ?? this.kept.answers[item] ?? this.known.saved[item] ?? {};
  }

  /** @param {string} item */
  isJudged(item) {
    return item in this.known.saved || item in this.kept.answers;
  }

  /** The item before the worker; null: all that are here are judged. @returns {string | null} */
  get current() {
    if (this.chosen !== null && this.known.order.includes(this.chosen)) return this.chosen;
    return this.known.order.find((item) => !this.isJudged(item)) ?? null;
  }

  /**
   * @param {string | null} item
   * @param {1 | -1} step
   * @returns {string | null}
   */
  neighbour(item, step) {
    const { order } = this.known;
    const at = item === null ? order.length : order.indexOf(item);
    return order[at + step] ?? null;
  }

  openGroup() {
    const open = this.current === null ? null : openQuestion(this.questions, this.answersOf(this.current));
    return open ? (this.view?.group(open.key) ?? null) : null;
  }

  /** To the open question; of a judged item to its first one; without an item to the end of the batch. */
  focus() {
    const first = this.questions[0].key;
    const group = this.openGroup() ?? (this.current === null ? byId("over") : this.view?.group(first));
    group?.focus({ preventScroll: true });
    byId("end").scrollIntoView({ block: "end" });
  }

  render() {
    const { current } = this;
    const isOpen = this.connection?.state === "open";
    if (current !== this.shown) this.show(current);
    if (current !== null) this.view?.questions.show(this.answersOf(current), ...this.markOf(current, isOpen));
    this.showEnd(isOpen);
    showConnection(this.connection?.state ?? "connecting", "your answers are");
    this.showProgress();
    const notice = byId("notice");
    notice.hidden = !this.known.refusal;
    setText(notice, this.known.refusal ?? "");
  }

  /** @param {string | null} current */
  show(current) {
    const isFirst = this.shown === null;
    this.shown = current;
    byId("item").hidden = current === null;
    this.view = null;
    if (current === null) return;
    const item = this.known.items[current];
    this.view = new ItemView(byId("turns"), byId("ask"), item, this.questions, (key, value) => this.answer(key, value));
    if (isFirst) this.view.questions.show(this.answersOf(current), "", false);
    const isFree = document.activeElement === document.body || document.activeElement?.id === "over";
    if (isFree) this.focus();
  }

  /**
   * @param {string} item
   * @param {boolean} isOpen
   * @returns {[string, boolean]}
   */
  markOf(item, isOpen) {
    if (this.begun.has(item)) return [item in this.known.saved ? "Not saved yet: one more answer" : "", false];
    if (item in this.kept.answers) return isOpen ? ["Saving …", false] : ["Not saved yet: waiting for the connection", true];
    return [item in this.known.saved ? "Saved" : "", false];
  }

  /** @param {boolean} isOpen */
  showEnd(isOpen) {
    const { progress } = this.known;
    const isOver = this.current === null && progress !== null;
    const isSaved = this.kept.isEmpty;
    const mayFinish = Boolean(progress?.may_finish) && isSaved;
    byId("over").hidden = !isOver;
    const finish = /** @type {HTMLButtonElement} */ (byId("finish"));
    finish.disabled = !mayFinish || !isOpen || this.isFinishing;
    if (isOver) setText(byId("over-text"), overText(progress, isSaved));
    byId("back").toggleAttribute("disabled", this.neighbour(this.current, -1) === null);
    byId("next").hidden = this.current === null || !this.isJudged(this.current);
  }

  showProgress() {
    const { progress, saved } = this.known;
    if (!progress) return;
    const waiting = Object.keys(this.kept.answers).filter((item) => !(item in saved)).length;
    const done = progress.done + waiting;
    const bar = /** @type {HTMLProgressElement} */ (byId("bar"));
    bar.max = progress.size;
    bar.value = done;
    setText(byId("done-text"), `${done} of ${progress.size} judged.`);
    setText(byId("waiting-text"), waiting && this.connection?.state !== "open" ? `${waiting} not saved yet.` : "");
  }
}

/**
 * @param {import("./store.js").Progress} progress
 * @param {boolean} isSaved
 */
function overText(progress, isSaved) {
  if (!isSaved) return "Your last answers are being saved.";
  if (!progress.may_finish) return "The next one is on its way.";
  if (progress.done < progress.size) return "Nothing more is left to judge, so you are done early and paid in full.";
  return "You have judged them all. You can still go back and change an answer, or finish now.";
}

new Judging(JSON.parse(byId("judging-settings").textContent ?? "{}"));
