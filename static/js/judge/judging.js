/** A page on which items are judged one after the other; the next ones are loaded ahead. */

import { Asking } from "../kit/asking.js";
import { Connection } from "../kit/connection.js";
import { byId, setText } from "../kit/dom.js";
import { finished, Finish } from "../kit/finish.js";
import { gettext } from "../kit/gettext.js";
import { explain } from "../kit/help.js";
import { listenToKeys } from "../kit/keyboard.js";
import { lastingStorage, Outbox } from "../kit/outbox.js";
import { Reading } from "../kit/reading.js";
import { answering, judgedInWords, showConnection, showProgress, showSaved, whyLocked } from "../kit/status.js";
import { receive, UNKNOWN } from "./store.js";

/**
 * @typedef {import("./store.js").Batch} Batch
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {import("../kit/answers.js").Question} Question
 * @typedef {{socket: string, batch: string, asks: Record<string, Question[]>}} Settings  asks: the questions, by number of the ask
 * @typedef {import("./store.js").Item} Item
 * @typedef {object} ItemView
 * @property {(list: HTMLElement, item: Item) => {ends: HTMLElement[], length: number}} show
 *   shows the item from its first line; returns the elements of the last texts, and the number of characters
 * @property {(item: Item) => string} describes  ids of what a question about it refers to
 */

/** Arrow keys by writing direction: "next" points to where reading continues. */
const [BACK, NEXT] = document.dir === "rtl" ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];

export class Judging {
  /**
   * @param {Settings} settings
   * @param {ItemView} view
   */
  constructor(settings, view) {
    this.view = view;
    const storage = lastingStorage();
    this.outbox = new Outbox(storage, settings.batch, (item, answers) => ({ type: "judge", item, answers }));
    /** @type {Batch} */
    this.batch = UNKNOWN;
    /** @type {string | null} */
    this.shownItem = null;
    this.isFinishing = false;
    this.reading = document.getElementById("reading") && new Reading();

    this.dock = byId("dock");
    this.finish = new Finish({ onFinish: () => this.end(), onRefused: () => this.refuse() });
    this.asking = new Asking((item) => questionsOf(settings.asks, this.batch.items[item]), {
      dock: this.dock,
      place: byId("ask"),
      outbox: this.outbox,
      page: {
        waiting: () => this.waiting,
        saved: (item) => this.batch.saved[item] ?? {},
        describedBy: (item) => view.describes(this.batch.items[item]),
        send: (frame) => void this.connection.send(frame),
        done: (item) => this.done(item),
        changed: () => this.render(),
      },
    });
    this.asking.keepRoom("");
    this.listen(storage);
    explain(unique(Object.values(settings.asks).flat()));
    byId("unready").remove();
    byId("judging").hidden = false;
    this.connection = new Connection(settings.socket, {
      onFrame: (frame) => this.onFrame(frame),
      onState: () => this.render(),
    });
  }

  /** @param {import("../kit/outbox.js").Store} storage */
  listen(storage) {
    listenToKeys({
      openGroup: () => this.asking.group,
      mayAnswer: () => this.asking.attention.mayPress,
      early: () => this.asking.onEarlyKey(),
      takeBack: () => this.takeBack(),
      takeText: null,
      escape: () => this.focus(),
      storage,
      toggle: byId("single-keys"),
    });
    byId("back").addEventListener("click", () => this.go(-1));
    byId("next").addEventListener("click", () => this.go(1));
    document.addEventListener("keydown", (event) => {
      const isInField = event.target instanceof Element && event.target.matches("input, textarea");
      if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || isInField) return;
      if (event.key === BACK) this.go(-1);
      if (event.key === NEXT) this.go(1);
    });
  }

  // --- frames from the server ---

  /** @param {Frame} frame */
  onFrame(frame) {
    this.outbox.settle(frame);
    this.batch = receive(this.batch, frame);
    if (frame.type !== "judged") this.isFinishing = false;
    if (frame.type === "state") this.outbox.frames().forEach((pending) => this.connection.send(pending));
    if (this.batch.finished) return this.leave(this.batch.finished);
    this.render();
  }

  /** @param {string} url */
  leave(url) {
    this.connection.leave("ended");
    this.outbox.forget();
    byId("judging").replaceChildren(finished(url));
    location.replace(url);
  }

  // --- actions of the worker ---

  /** @param {string} item */
  done(item) {
    this.choose(this.neighbour(item, 1));
    this.render();
    this.focus();
  }

  takeBack() {
    this.asking.heldBack.takeBack();
    this.focus();
  }

  /** @param {1 | -1} step */
  go(step) {
    const { current } = this;
    const to = this.neighbour(current, step);
    const isBeyond = step === 1 && (current === null || !this.asking.isJudged(current));
    if (isBeyond || (step === -1 && to === null)) return;
    this.choose(to);
    this.render();
    this.focus();
  }

  /** Go back to a judged item, or to the next unjudged one. @param {string | null} item */
  choose(item) {
    this.asking.change = item !== null && this.asking.isJudged(item) ? { subject: item, answers: {} } : null;
  }

  end() {
    this.asking.heldBack.flush();
    this.isFinishing = this.connection.send({ type: "finish" });
    this.render();
  }

  refuse() {
    this.render();
    this.asking.focus();
  }

  // --- display ---

  /** The next item without answers. @returns {string | null} */
  get waiting() {
    return this.asking.unjudged(this.batch.order)[0] ?? null;
  }

  /** The item on the page; null: all loaded ones are judged. @returns {string | null} */
  get current() {
    const revisited = this.asking.change?.subject;
    return revisited !== undefined && this.batch.order.includes(revisited) ? revisited : this.waiting;
  }

  /**
   * @param {string | null} item
   * @param {1 | -1} step
   * @returns {string | null}
   */
  neighbour(item, step) {
    const { order } = this.batch;
    const at = item === null ? order.length : order.indexOf(item);
    return order[at + step] ?? null;
  }

  /** Why the batch cannot be finished now; "" if it can. */
  get obstacle() {
    const { progress } = this.batch;
    if (!progress) return gettext("Connecting …");
    if (this.waiting !== null) return gettext("Judge what is left, then finish.");
    if (this.connection?.state !== "open") return gettext("Not connected: finish when the connection is back.");
    if (!this.outbox.isEmpty) return gettext("Your last answers are being saved.");
    return progress.may_finish && !this.isFinishing ? "" : gettext("One moment …");
  }

  /** Focus the open question, or the end of the batch. */
  focus() {
    if (this.asking.current) this.asking.focus();
    else byId("over").focus({ preventScroll: true });
  }

  render() {
    if (this.batch.finished) return;
    const state = this.connection?.state ?? "connecting";
    const { current } = this;
    if (current !== this.shownItem) this.show(current);
    const { obstacle } = this;
    const isPast = current === null && this.batch.progress !== null;
    this.dock.dataset.mode = isPast ? "over" : "ask";
    this.asking.render();
    byId("over").hidden = !isPast;
    this.showEnd(state);
    this.finish.show(obstacle, isPast && this.isAll);
    setText(byId("why-not"), obstacle);
    byId("back").toggleAttribute("disabled", this.neighbour(current, -1) === null);
    byId("next").toggleAttribute("disabled", current === null || !this.asking.isJudged(current));
    setText(byId("hint"), this.finish.hintOr(this.hint(current)));
    showConnection(state, answering());
    showSaved(state, this.outbox.isEmpty, Object.keys(this.batch.saved).length > 0);
    this.showProgress();
    byId("notice").hidden = !this.batch.refusal;
    setText(byId("notice"), this.batch.refusal ?? "");
    this.takeFocus();
  }

  /** Text in place of an item: that this was the last one, or that the next one is being loaded. @param {import("../kit/connection.js").ConnectionState} state */
  showEnd(state) {
    const { isAll } = this;
    byId("last").hidden = !isAll;
    byId("coming").hidden = isAll;
    byId("over").setAttribute("aria-labelledby", isAll ? "last" : "coming");
    setText(byId("coming"), state === "open" ? gettext("The next one is on its way.") : gettext("The next one comes when the connection is back."));
  }

  /** @param {string | null} current */
  show(current) {
    this.shownItem = current;
    byId("item").hidden = current === null;
    this.asking.sight.forget();
    if (current === null) return;
    this.reading?.show(this.batch.items[current].reading ?? "");
    const { ends, length } = this.view.show(byId("turns"), this.batch.items[current]);
    this.asking.meet(current, ends, length);
    this.isNew = true;
  }

  /** Focus the question of a new item, unless the worker has moved the focus. */
  takeFocus() {
    const isFree = document.activeElement === document.body || document.activeElement?.id === "over";
    if (this.isNew && isFree) this.focus();
    this.isNew = false;
  }

  /** @param {string | null} current */
  hint(current) {
    const { progress } = this.batch;
    if (current === null) return progress && this.isAll ? this.obstacle || overText(progress) : "";
    const isRead = this.asking.attention.isRead(current);
    const isJudged = this.asking.isJudged(current);
    if (this.asking.wasEarly) return whyLocked();
    if (isRead && isJudged) return gettext("You have judged this one: answer again to change it.");
    const other = !isJudged && this.isOtherwise(current) ? gettext("Other questions from here on.") : "";
    return [other, isRead ? "" : gettext("Read to the end, then answer.")].filter(Boolean).join(" ");
  }

  /** True if the ask about the item differs from that about the previous one. @param {string} item */
  isOtherwise(item) {
    const before = this.neighbour(item, -1);
    return before !== null && this.batch.items[before].ask !== this.batch.items[item].ask;
  }

  /** Number of items that the worker has gone back. */
  get back() {
    const { current, waiting } = this;
    const { order } = this.batch;
    if (current === null) return 0;
    return Math.max(0, (waiting === null ? order.length : order.indexOf(waiting)) - order.indexOf(current));
  }

  /** Number of judged items, including those whose answers are not saved yet. */
  get judgedCount() {
    const { progress, saved } = this.batch;
    return (progress?.done ?? 0) + Object.keys(this.outbox.held.labels).filter((item) => !(item in saved)).length;
  }

  /** True if no more items have to be judged. */
  get isAll() {
    const { progress } = this.batch;
    return progress !== null && this.waiting === null && (progress.may_finish || this.judgedCount >= progress.size);
  }

  showProgress() {
    const { progress } = this.batch;
    if (!progress) return;
    const { judgedCount: done, isAll } = this;
    const count = { done, of: isAll ? Math.min(done, progress.size) : progress.size, isAll };
    const { back } = this;
    showProgress({ ...count, text: judgedInWords(back ? { ...count, done: done - back, isAll: false } : count) });
  }
}

/** Remove questions that several asks share. @param {Question[]} questions */
function unique(questions) {
  const byWording = new Map(questions.map((each) => [`${each.wording} ${each.help}`, each]));
  return [...byWording.values()];
}

/**
 * Questions about an item. In a battery the free-text question is left out, except where a reason is required.
 *
 * @param {Record<string, Question[]>} asks
 * @param {Item | undefined} item  undefined before the first one
 */
function questionsOf(asks, item) {
  const questions = asks[item?.ask ?? Object.keys(asks)[0]];
  if (item?.asks_reason === undefined) return questions;
  const visible = item.asks_reason ? questions : questions.filter(({ kind }) => kind !== "text");
  return visible.map((question) => (question.kind === "text" ? { ...question, required: true } : question));
}

/** @param {import("./store.js").Progress} progress */
function overText(progress) {
  if (progress.done < progress.size) return gettext("There is nothing left to judge, so you are done early and paid in full.");
  return gettext("You have judged them all. You can still go back and change an answer, or finish now.");
}

/** Start the judging page with this view of its items. @param {ItemView} view */
export function judge(view) {
  return new Judging(JSON.parse(byId("judging-settings").textContent ?? "{}"), view);
}
