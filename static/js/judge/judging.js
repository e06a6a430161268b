/** A page on which items are judged: one after the other, the next ones already here. */

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
 *   from its first line; the elements of the texts that are read last, and how many characters there are to read
 * @property {(item: Item) => string} describes  ids of what a question about it refers to
 */

/** Keys by where the buttons stand: "next" is where one reads on. */
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
    this.known = UNKNOWN;
    /** @type {string | null} */
    this.shown = null;
    this.isFinishing = false;
    this.reading = document.getElementById("reading") && new Reading();

    this.dock = byId("dock");
    this.finish = new Finish({ onFinish: () => this.end(), onRefused: () => this.refuse() });
    this.asking = new Asking((item) => questionsOf(settings.asks, this.known.items[item]), {
      dock: this.dock,
      place: byId("ask"),
      outbox: this.outbox,
      page: {
        waiting: () => this.waiting,
        saved: (item) => this.known.saved[item] ?? {},
        describedBy: (item) => view.describes(this.known.items[item]),
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
      onFrame: (frame) => this.heard(frame),
      onState: () => this.render(),
    });
  }

  /** @param {import("../kit/outbox.js").Store} storage */
  listen(storage) {
    listenToKeys({
      openGroup: () => this.asking.group,
      mayAnswer: () => this.asking.attention.mayPress,
      early: () => this.asking.early(),
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

  // --- what the server says ---

  /** @param {Frame} frame */
  heard(frame) {
    this.outbox.settle(frame);
    this.known = receive(this.known, frame);
    if (frame.type !== "judged") this.isFinishing = false;
    if (frame.type === "state") this.outbox.frames().forEach((held) => this.connection.send(held));
    if (this.known.finished) return this.leave(this.known.finished);
    this.render();
  }

  /** @param {string} url */
  leave(url) {
    this.connection.leave("ended");
    this.outbox.forget();
    byId("judging").replaceChildren(finished(url));
    location.replace(url);
  }

  // --- what the worker does ---

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

  /** Judged items are chosen by name; the one that is next to judge follows from what is known. @param {string | null} item */
  choose(item) {
    this.asking.change = item !== null && this.asking.isJudged(item) ? { subject: item, answers: {} } : null;
  }

  end() {
    this.asking.heldBack.flush();
    this.isFinishing = this.connection.send({ type: "finish" });
    this.render();
  }

  refuse() {
    setText(byId("hint"), this.obstacle);
    this.asking.focus();
  }

  // --- what follows from both ---

  /** The next item without answers. @returns {string | null} */
  get waiting() {
    return this.asking.unjudged(this.known.order)[0] ?? null;
  }

  /** The item before the worker; null: all that are here are judged. @returns {string | null} */
  get current() {
    const chosen = this.asking.change?.subject;
    return chosen !== undefined && this.known.order.includes(chosen) ? chosen : this.waiting;
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

  /** Why the batch cannot be finished now; "" if it can. */
  get obstacle() {
    const { progress } = this.known;
    if (!progress) return gettext("Connecting …");
    if (this.waiting !== null) return gettext("Judge what is left, then finish.");
    if (this.connection?.state !== "open") return gettext("Not connected: finish when the connection is back.");
    if (!this.outbox.isEmpty) return gettext("Your last answers are being saved.");
    return progress.may_finish && !this.isFinishing ? "" : gettext("One moment …");
  }

  /** To the open question, or to the end of the batch. */
  focus() {
    if (this.asking.asked) this.asking.focus();
    else byId("over").focus({ preventScroll: true });
  }

  render() {
    if (this.known.finished) return;
    const state = this.connection?.state ?? "connecting";
    const { current } = this;
    if (current !== this.shown) this.show(current);
    const { obstacle } = this;
    const isPast = current === null && this.known.progress !== null;
    this.dock.dataset.mode = isPast ? "over" : "ask";
    this.asking.render();
    byId("over").hidden = !isPast;
    this.showEnd(state);
    this.finish.show(obstacle, isPast && this.isAll);
    setText(byId("why-not"), obstacle);
    byId("back").toggleAttribute("disabled", this.neighbour(current, -1) === null);
    byId("next").toggleAttribute("disabled", current === null || !this.asking.isJudged(current));
    setText(byId("hint"), this.hint(current));
    showConnection(state, answering());
    showSaved(state, this.outbox.isEmpty, Object.keys(this.known.saved).length > 0);
    this.showProgress();
    byId("notice").hidden = !this.known.refusal;
    setText(byId("notice"), this.known.refusal ?? "");
    this.takeFocus();
  }

  /** What stands where no item does: that this was the last one, or that the next one is not here yet. @param {import("../kit/connection.js").ConnectionState} state */
  showEnd(state) {
    const { isAll } = this;
    byId("last").hidden = !isAll;
    byId("coming").hidden = isAll;
    byId("over").setAttribute("aria-labelledby", isAll ? "last" : "coming");
    setText(byId("coming"), state === "open" ? gettext("The next one is on its way.") : gettext("The next one comes when the connection is back."));
  }

  /** @param {string | null} current */
  show(current) {
    this.shown = current;
    byId("item").hidden = current === null;
    this.asking.sight.forget();
    if (current === null) return;
    this.reading?.show(this.known.items[current].reading ?? "");
    const { ends, length } = this.view.show(byId("turns"), this.known.items[current]);
    this.asking.meet(current, ends, length);
    this.isNew = true;
  }

  /** Of a new item the question has the focus, unless the worker has put it elsewhere. */
  takeFocus() {
    const isFree = document.activeElement === document.body || document.activeElement?.id === "over";
    if (this.isNew && isFree) this.focus();
    this.isNew = false;
  }

  /** @param {string | null} current */
  hint(current) {
    const { progress } = this.known;
    if (current === null) return progress && this.isAll ? this.obstacle || overText(progress) : "";
    const isRead = this.asking.attention.isRead(current);
    const isJudged = this.asking.isJudged(current);
    if (this.asking.wasEarly) return whyLocked();
    if (isRead && isJudged) return gettext("You have judged this one: answer again to change it.");
    const other = !isJudged && this.isOtherwise(current) ? gettext("Other questions from here on.") : "";
    return [other, isRead ? "" : gettext("Read to the end, then answer.")].filter(Boolean).join(" ");
  }

  /** Whether something else is asked about an item than about the one before it. @param {string} item */
  isOtherwise(item) {
    const before = this.neighbour(item, -1);
    return before !== null && this.known.items[before].ask !== this.known.items[item].ask;
  }

  /** How many items the worker has gone back from the next one, or from the end. */
  get back() {
    const { current, waiting } = this;
    const { order } = this.known;
    if (current === null) return 0;
    return Math.max(0, (waiting === null ? order.length : order.indexOf(waiting)) - order.indexOf(current));
  }

  /** How many are judged, those included whose answers are not saved yet. */
  get given() {
    const { progress, saved } = this.known;
    return (progress?.done ?? 0) + Object.keys(this.outbox.held.labels).filter((item) => !(item in saved)).length;
  }

  /** Whether nothing more has to be judged. */
  get isAll() {
    const { progress } = this.known;
    return progress !== null && this.waiting === null && (progress.may_finish || this.given >= progress.size);
  }

  showProgress() {
    const { progress } = this.known;
    if (!progress) return;
    const { given: done, isAll } = this;
    const told = { done, of: isAll ? Math.min(done, progress.size) : progress.size, isAll };
    const { back } = this;
    showProgress({ ...told, text: judgedInWords(back ? { ...told, done: done - back, isAll: false } : told) });
  }
}

/** Questions that several asks have stand once. @param {Question[]} questions */
function unique(questions) {
  const known = new Map(questions.map((each) => [`${each.wording} ${each.help}`, each]));
  return [...known.values()];
}

/**
 * What is asked about an item, by its ask: of a battery, in free text only where a reason is wanted, and there it is.
 *
 * @param {Record<string, Question[]>} asks
 * @param {Item | undefined} item  none: as at the beginning
 */
function questionsOf(asks, item) {
  const questions = asks[item?.ask ?? Object.keys(asks)[0]];
  if (item?.asks_reason === undefined) return questions;
  const asked = item.asks_reason ? questions : questions.filter(({ kind }) => kind !== "text");
  return asked.map((question) => (question.kind === "text" ? { ...question, required: true } : question));
}

/** @param {import("./store.js").Progress} progress */
function overText(progress) {
  if (progress.done < progress.size) return gettext("There is nothing left to judge, so you are done early and paid in full.");
  return gettext("You have judged them all. You can still go back and change an answer, or finish now.");
}

/** The page that shows its items like this. @param {ItemView} view */
export function judge(view) {
  return new Judging(JSON.parse(byId("judging-settings").textContent ?? "{}"), view);
}
