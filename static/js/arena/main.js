/** The page on which a worker writes to two chatbots at once, and votes on which is better. */

import { Asking } from "../kit/asking.js";
import { Composer, hasKeyboard } from "../kit/composer.js";
import { Connection } from "../kit/connection.js";
import { byId, setText } from "../kit/dom.js";
import { finished, Finish } from "../kit/finish.js";
import { gettext, ngettext } from "../kit/gettext.js";
import { explain } from "../kit/help.js";
import { newKey } from "../kit/key.js";
import { listenToKeys } from "../kit/keyboard.js";
import { lastingStorage, Outbox } from "../kit/outbox.js";
import { showConnection, showProgress, showSaved, whyLocked, writing } from "../kit/status.js";
import { partsOf, subjectOf } from "../kit/subjects.js";
import { partsOfPlace, placeOf } from "./places.js";
import { Rounds } from "./rounds.js";

/**
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {import("../kit/answers.js").Question} Question
 * @typedef {{socket: string, name: string, asks: Record<string, Question[]>, max_chars: number}} Settings
 */

/** Wait before a reply that failed for the first time is asked for again. */
const RETRY_MS = 2000;

class Arena {
  /** @param {Settings} settings */
  constructor(settings) {
    const storage = lastingStorage();
    this.asks = settings.asks;
    // The subject of an answer is the place in the battle, and the number of the ask.
    this.outbox = new Outbox(storage, settings.name, (subject, answers) => {
      const { position, ask } = partsOf(subject);
      return { type: "vote", ...partsOfPlace(position), ask, answers };
    });
    /** The newest state. @type {Frame | null} */
    this.state = null;
    /** @type {string | null} */
    this.refusal = null;
    this.isVoting = false;
    this.mayTakeFocus = false;
    this.isFinishing = false;
    this.isRetrying = false;
    this.dock = byId("dock");
    this.rounds = new Rounds(byId("turns"));
    this.finish = new Finish({ onFinish: () => this.end(), onRefused: () => this.refuse() });
    this.composer = new Composer(
      { form: byId("composer"), box: byId("message"), send: byId("send"), count: byId("count") },
      { maxChars: settings.max_chars, onDraft: (text) => this.outbox.keepDraft(text), onSend: (text) => this.send(text) },
    );
    this.composer.text = this.outbox.draftOf();
    this.asking = new Asking((subject) => this.asks[subject ? partsOf(subject).ask : Object.keys(this.asks)[0]], {
      dock: this.dock,
      place: byId("ask"),
      outbox: this.outbox,
      page: {
        waiting: () => this.waiting,
        saved: (subject) => this.savedOf(subject),
        describedBy: () => "",
        send: (frame) => void this.connection.send(frame),
        done: () => this.focus(),
        changed: () => this.render(),
        cancel: () => this.cancelVote,
      },
    });
    this.asking.keepRoom("");
    this.listen(storage);
    explain(Object.values(this.asks).flat());
    byId("unready").remove();
    byId("arena").hidden = false;
    this.connection = new Connection(settings.socket, {
      onFrame: (frame) => this.onFrame(frame),
      onState: () => this.render(),
    });
  }

  /** @param {import("../kit/outbox.js").Store} storage */
  listen(storage) {
    byId("vote").addEventListener("click", () => this.vote());
    byId("anew").addEventListener("click", () => this.beginAnew());
    byId("retry").addEventListener("click", () => this.retry());
    byId("give-up").addEventListener("click", () => this.connection.send({ type: "give_up", battle: this.battle }));
    listenToKeys({
      openGroup: () => this.asking.group,
      mayAnswer: () => this.asking.attention.mayPress,
      early: () => this.asking.onEarlyKey(),
      takeBack: () => this.asking.heldBack.takeBack(),
      takeText: null,
      escape: () => this.escape(),
      storage,
      toggle: byId("single-keys"),
    });
  }

  // --- frames from the server ---

  /** @param {Frame} frame */
  onFrame(frame) {
    if (frame.type === "bot_text" && frame.battle === this.battle) this.rounds.grow(/** @type {any} */ (frame));
    if (frame.type === "state") this.onState(frame);
    else if (frame.type === "refused") this.onRefused(frame);
    this.render();
  }

  /** @param {Frame} state */
  onState(state) {
    const isNew = state.battle !== this.battle;
    if (state.exchange !== this.state?.exchange) this.isVoting = false;
    const isFirst = this.state === null;
    state.annotations?.forEach((/** @type {any} */ each) => (each.position = placeOf(each.battle, each.exchange)));
    this.outbox.settle(state);
    if (isNew) this.dropOthers(state.battle);
    if (isNew) this.isVoting = false;
    this.state = state;
    this.isFinishing = this.isRetrying = false;
    if (state.finished) return this.leave(state.finished);
    this.outbox.frames().forEach((pending) => this.connection.send(this.addressed(pending)));
    this.showRounds(isFirst, isNew);
    if (state.fault?.failures === 1) setTimeout(() => this.state?.fault?.failures === 1 && this.retry(), RETRY_MS);
  }

  /** Forget answers about battles that are over. @param {number | null} battle */
  dropOthers(battle) {
    const { labels, begun } = this.outbox.held;
    const places = [...Object.keys(labels), ...Object.keys(begun)].map((subject) => partsOf(subject).position ?? 0);
    places.filter((place) => partsOfPlace(place).battle !== battle).forEach((place) => this.outbox.dropAnswersTo(place));
  }

  /** @param {Frame} frame */
  onRefused(frame) {
    this.outbox.settle({ ...frame, position: placeOf(frame.battle, frame.exchange) });
    if (frame.key) this.composer.text = this.outbox.draftOf();
    this.refusal = frame.say;
  }

  /** @param {string} url */
  leave(url) {
    this.connection.leave("ended");
    this.outbox.forget();
    byId("arena").replaceChildren(finished(url));
    location.replace(url);
  }

  // --- actions of the worker ---

  /** A frame with the battle that it is about. @param {Frame} frame */
  addressed(frame) {
    return frame.type === "turn" ? { ...frame, battle: this.battle } : frame;
  }

  /** @param {string} text */
  send(text) {
    if (!this.maySend || !text.trim() || this.composer.isTooLong) return this.render();
    this.outbox.holdTurn(newKey(), text.trim());
    this.composer.text = "";
    this.refusal = null;
    const turn = this.outbox.frames().find((frame) => frame.type === "turn");
    if (turn) this.connection.send(this.addressed(turn));
    this.render();
    scrollTo({ top: document.body.scrollHeight });
  }

  vote() {
    if (!this.mayVote) return this.render();
    this.isVoting = true;
    this.refusal = null;
    this.render();
    this.asking.focus();
  }

  beginAnew() {
    this.refusal = null;
    this.connection.send({ type: "anew", battle: this.battle });
    this.render();
  }

  escape() {
    if (this.cancelVote) this.cancelVote.act();
    else if (this.mayVote) this.vote();
    else this.focus();
  }

  /** Button that returns from the questions to the conversation; null if it cannot go on. */
  get cancelVote() {
    if (!this.isVoting || !this.state?.may_send) return null;
    return { label: gettext("Keep talking"), act: () => this.keepTalking() };
  }

  keepTalking() {
    this.isVoting = false;
    this.render();
    this.composer.focus();
  }

  retry() {
    this.isRetrying = this.connection.send({ type: "retry", battle: this.battle });
    this.render();
  }

  end() {
    this.asking.heldBack.flush();
    this.isFinishing = this.connection.send({ type: "finish" });
    this.render();
  }

  refuse() {
    this.render();
    this.focus();
  }

  focus() {
    if (this.isOver) byId("over").focus({ preventScroll: true });
    else if (this.asking.current) this.asking.focus();
    else if (hasKeyboard()) this.composer.focus();
  }

  // --- what the page shows ---

  /** Number of the battle on the page. @returns {number | null} */
  get battle() {
    return this.state?.battle ?? null;
  }

  /** Place of a vote about the conversation as it is now. */
  get place() {
    return placeOf(this.battle, this.state?.exchange ?? 0);
  }

  /** Subjects about the conversation as it is now that have no answers yet, neither saved nor being sent. */
  get unjudged() {
    return this.asking.unjudged(Object.keys(this.asks).map((ask) => subjectOf(this.place, Number(ask))));
  }

  get mayBeginAnew() {
    return this.state?.may_begin_anew === true && !this.isSending;
  }

  /** True once all battles are done. */
  get isOver() {
    return this.state !== null && this.battle === null;
  }

  /** True once the server has something of this worker. */
  get hasSaved() {
    return this.state !== null && (this.state.progress.done > 0 || this.state.turns?.length > 0);
  }

  /** True in the last battle. */
  get isLast() {
    return this.state !== null && this.state.progress.done + 1 >= this.state.progress.size;
  }

  get isSending() {
    return this.outbox.held.turn !== null;
  }

  get maySend() {
    return this.state?.may_send === true && !this.isSending && !this.state.thinking;
  }

  get mayVote() {
    return this.state?.may_vote === true && !this.isSending && this.unjudged.length > 0;
  }

  /** The answers that are stored about a subject. @param {string} subject */
  savedOf(subject) {
    const { position, ask } = partsOf(subject);
    const saved = (this.state?.annotations ?? []).find((/** @type {any} */ each) => each.position === position && each.ask === ask);
    return saved?.answers ?? {};
  }

  /** The subject that is to be judged now: while the worker votes, or once nothing can be written any more. */
  get waiting() {
    if (this.battle === null || !this.mayVote || !(this.isVoting || !this.state?.may_send)) return null;
    return this.unjudged[0] ?? null;
  }

  /** Why the work cannot be finished now; "" if it can. */
  get obstacle() {
    if (!this.state) return gettext("Connecting …");
    if (!this.isOver) return gettext("Judge what is left, then finish.");
    if (this.connection?.state !== "open") return gettext("Not connected: finish when the connection is back.");
    return this.isFinishing ? gettext("Finishing …") : "";
  }

  /** @param {boolean} isFirst @param {boolean} isNew */
  showRounds(isFirst, isNew) {
    const { state } = this;
    if (!state || state.battle === null) return byId("turns").replaceChildren();
    const change = this.rounds.show(state.battle, state.turns);
    state.growing?.forEach((/** @type {any} */ growth) => this.rounds.grow(growth));
    const { ends } = this.rounds;
    if (isNew) this.asking.sight.forget();
    if (change && ends.length) this.meet(ends);
    if (isNew && !isFirst) scrollTo({ top: 0 });
    else if (change === "added") [...byId("turns").children].at(-1)?.scrollIntoView({ block: "start" });
    if (isFirst || isNew) this.mayTakeFocus = true;
  }

  /** @param {HTMLElement[]} ends */
  meet(ends) {
    const length = ends.map((end) => end.textContent ?? "").join("").length;
    for (const ask of Object.keys(this.asks)) this.asking.meet(subjectOf(this.place, Number(ask)), ends, length);
  }

  render() {
    if (this.state?.finished) return;
    const line = this.connection?.state ?? "connecting";
    const { isOver, obstacle } = this;
    const isAsked = this.waiting !== null;
    this.dock.dataset.mode = isOver ? "over" : isAsked ? "ask" : "write";
    byId("composer").inert = isOver || isAsked;
    this.asking.render();
    byId("over").hidden = !isOver;
    byId("vote").hidden = isOver || isAsked || !this.mayVote;
    byId("anew").hidden = isOver || isAsked || !this.mayBeginAnew;
    setText(byId("anew"), this.isLast ? gettext("End this comparison") : gettext("Begin anew"));
    this.finish.show(obstacle, isOver);
    setText(byId("why-not"), obstacle);
    this.composer.unlock(this.maySend);
    this.showWaiting();
    setText(byId("hint"), this.finish.hintOr(this.hint()));
    byId("notice").hidden = !this.refusal;
    setText(byId("notice"), this.refusal ?? "");
    showConnection(line, writing());
    showSaved(line, this.outbox.isEmpty, this.hasSaved);
    this.showDone();
    this.keepFocus();
  }

  /** Move the focus on if its element has just been hidden or locked, or, in a new battle, if nothing has it. */
  keepFocus() {
    if (!this.state) return;
    const { activeElement, body } = document;
    const isFree = !activeElement || activeElement === body;
    const isLost = isFree ? this.mayTakeFocus : !activeElement.checkVisibility() || activeElement.closest("[inert]");
    this.mayTakeFocus = false;
    if (isLost) this.focus();
  }

  /** The message that is being sent, the wait for both replies, and their failure. */
  showWaiting() {
    const text = this.outbox.held.turn?.text ?? "";
    byId("sent").hidden = !text;
    setText(byId("sent-text"), text);
    const isOpen = this.connection?.state === "open";
    setText(byId("sent-mark"), isOpen ? gettext("Sending …") : gettext("Not sent yet"));
    const fault = this.isRetrying ? null : this.state?.fault;
    const isAwaited = this.state?.thinking && !this.rounds.writing.length; // replies that grow are seen
    byId("thinking").hidden = !(isAwaited || this.isRetrying);
    byId("fault").hidden = !fault;
    setText(byId("fault-text"), fault?.say ?? "");
    byId("give-up").hidden = !fault?.may_give_up;
  }

  hint() {
    const { state } = this;
    if (!state || this.isOver || state.fault) return "";
    if (this.asking.wasEarly) return whyLocked();
    const { waiting } = this;
    if (waiting) return this.asking.attention.isRead(waiting) ? "" : gettext("Read to the end, then answer.");
    if (this.composer.isTooLong) return gettext("Shorten your message to send it.");
    if (state.thinking) return this.rounds.writing.length === 1 ? gettext("%(name)s is writing …", { name: this.rounds.writing[0] }) : gettext("Both chatbots are writing.");
    if (this.mayBeginAnew && this.isLast) return gettext("Your vote is saved. Go on with these two, or end the comparison.");
    if (this.mayBeginAnew) return gettext("Your vote is saved. Go on with these two, or begin anew with two others.");
    if (this.mayVote) return gettext("Go on talking, or say which of the two is better.");
    return hasKeyboard() ? gettext("Enter sends, Shift + Enter starts a new line.") : "";
  }

  showDone() {
    if (!this.state) return;
    const { done, size } = this.state.progress;
    const all = ngettext("Compared", "All %(n)s compared", done);
    showProgress({ done, of: size, text: this.isOver ? all : gettext("Comparison %(n)s of %(all)s", { n: done + 1, all: size }) });
  }
}

new Arena(JSON.parse(byId("arena-settings").textContent ?? "{}"));
