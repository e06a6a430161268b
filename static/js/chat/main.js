/** The chat page: what is known, what is under way, and the parts that show it. */

import { inShort } from "../kit/answers.js";
import { Asking } from "../kit/asking.js";
import { Rhythm } from "../kit/rhythm.js";
import { Composer, hasKeyboard } from "../kit/composer.js";
import { Connection } from "../kit/connection.js";
import { byId, setText } from "../kit/dom.js";
import { Finish } from "../kit/finish.js";
import { gettext } from "../kit/gettext.js";
import { explain } from "../kit/help.js";
import { listenToKeys } from "../kit/keyboard.js";
import { lastingStorage, Outbox } from "../kit/outbox.js";
import { isDocked, isInView } from "../kit/sight.js";
import { judgedInWords, showConnection, showProgress, showSaved, writing } from "../kit/status.js";
import { partsOf, subjectOf } from "../kit/subjects.js";
import { Alerts } from "./alerts.js";
import { Asks } from "./asks.js";
import { Company } from "./company.js";
import { Follower } from "./scroll.js";
import { isLastTurn, receive, UNKNOWN, whyNotFinish } from "./store.js";
import { TurnList } from "./turns.js";

/**
 * @typedef {import("./store.js").Dialogue} Dialogue
 * @typedef {import("./store.js").Turn} Turn
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {import("../kit/answers.js").Question} Question
 * @typedef {import("./asks.js").Ask} Ask
 * @typedef {{socket: string, asks: Ask[], max_chars: number, dialogue: string, person: boolean, notes_typing: boolean, disclosed: boolean}} Settings
 */

const ANSWERS_TO_A_REQUEST = new Set(["state", "bot_turn", "bot_failed", "refused"]);
const REPLIES = new Set(["bot_turn", "partner_turn"]);

/** After the first fault of a reply. */
const RETRY_MS = 2000;

class Chat {
  /** @param {Settings} settings */
  constructor(settings) {
    const storage = lastingStorage();
    this.asks = new Asks(settings.asks);
    this.outbox = new Outbox(storage, settings.dialogue, (subject, answers) => ({ type: "label", ...partsOf(subject), answers }));
    /** @type {Dialogue} */
    this.known = UNKNOWN;
    this.isFinishing = false;
    this.isRetrying = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.retryTimer = undefined;
    /** Whether the worker writes although a question waits. */
    this.isWriting = false;
    /** Whether the server knows that they write. */
    this.hasBegun = false;
    /** Whether the worker is at the questions about the whole conversation. */
    this.isRating = false;

    this.page = byId("chat");
    this.dock = byId("dock");
    this.alerts = new Alerts({ retry: () => this.retry(), giveUp: () => this.end("give_up") });
    this.company = settings.person ? this.makeCompany(settings.disclosed) : null;
    this.finish = new Finish({ onFinish: () => this.confirmFinish(), onRefused: () => this.toUnjudged() });
    this.follower = new Follower(byId("new-reply"));
    this.asking = this.makeAsking();
    this.list = new TurnList(byId("turns"), {
      botName: this.page.dataset.botName ?? "",
      asksOf: (turn) => this.asks.about(turn),
      onChange: (position, ask) => this.asking.ask(subjectOf(position, ask)),
      onVote: (position, ask, key, value) => this.vote(subjectOf(position, ask), { [key]: value }),
      onShown: (turn, element) => this.meet(turn, element),
    });
    this.composer = new Composer(
      { form: byId("composer"), box: byId("message"), send: byId("send"), count: byId("count") },
      {
        maxChars: settings.max_chars,
        onDraft: (text) => this.drafted(text),
        onSend: (text) => this.send(text),
      },
    );
    for (const subject of this.asks.atEnd) {
      this.asking.attention.meet(subject, 0); // all of it has been read as it came
      this.asking.attention.read(subject);
    }
    this.listen(storage);
    explain(settings.asks.flatMap(({ questions }) => questions));
    byId("unready").remove();
    this.page.hidden = false;
    if (this.company && document.hidden) this.alerts.markUnread();
    this.composer.text = this.outbox.draftOf();
    this.rhythm = settings.notes_typing ? new Rhythm(/** @type {HTMLTextAreaElement} */ (byId("message"))) : null;
    this.connection = new Connection(settings.socket, {
      onFrame: (frame) => this.heard(frame),
      onState: () => this.render(),
    });
  }

  /** @param {boolean} isDisclosed */
  makeCompany(isDisclosed) {
    return new Company({
      isDisclosed,
      onTyping: () => void this.connection.send({ type: "typing" }),
      onChange: () => this.render(),
      onEnd: () => this.alerts.askToEnd(() => this.end("end_alone")),
    });
  }

  /** @param {string} text */
  drafted(text) {
    this.outbox.keepDraft(text);
    if (!text || !this.maySend) return;
    if (this.company) this.company.type();
    else if (!this.hasBegun) this.hasBegun = this.connection.send({ type: "typing" }); // from now on the place is theirs
  }

  makeAsking() {
    const asking = new Asking((subject) => this.asks.of(subject).questions, {
      dock: this.dock,
      place: byId("ask"),
      outbox: this.outbox,
      page: {
        waiting: () => this.waiting,
        saved: (subject) => this.known.labels[subject] ?? {},
        describedBy: (subject) => turnNamed(partsOf(subject).position),
        send: (frame) => void this.connection.send(frame),
        done: (_, event) => this.moveOn(event),
        changed: () => this.render(),
        cancel: () => this.wayBack,
      },
    });
    const [first] = this.asks.all;
    if (first && this.asks.judgesTurns) asking.keepRoom(subjectOf(null, first.number));
    return asking;
  }

  /** The turn stands on the page. @param {Turn} turn @param {HTMLElement} element */
  meet(turn, element) {
    for (const { number } of this.asks.about(turn)) {
      this.asking.meet(subjectOf(turn.position, number), [element], turn.text.length);
    }
  }

  /** @param {import("../kit/outbox.js").Store} storage */
  listen(storage) {
    listenToKeys({
      openGroup: () => this.asking.group,
      mayAnswer: () => this.asking.attention.mayPress && (!isDocked() || isInView(this.askedElement)),
      early: () => (isDocked() ? this.showAsked() : this.asking.show()),
      takeBack: () => this.asking.heldBack.takeBack(),
      takeText: (text) => this.write(text),
      escape: (isInText) => this.escape(isInText),
      storage,
      toggle: byId("single-keys"),
    });
  }

  // --- what the server says ---

  /** @param {Frame} frame */
  heard(frame) {
    if (frame.type === "are_you_there") return void this.connection.send({ type: "here" });
    if (frame.type === "partner_typing") return this.company?.typed();
    if (frame.to) return this.leave(frame.to);
    const isFirst = this.known.progress === null;
    this.outbox.settle(frame);
    this.known = receive(this.known, frame);
    if (ANSWERS_TO_A_REQUEST.has(frame.type)) this.isFinishing = this.isRetrying = false;
    if (frame.type === "state") this.outbox.frames().forEach((held) => this.connection.send(held));
    if (frame.type === "refused" && frame.key) this.composer.text = this.outbox.draftOf();
    if (this.known.finished) return this.leave(this.known.finished);
    if (REPLIES.has(frame.type)) this.company?.hasWritten();
    if (REPLIES.has(frame.type)) this.isWriting = this.composer.hasFocus && this.composer.text !== "";
    this.render();
    this.follow(frame, isFirst);
    this.retryFirstFault();
  }

  /** The first time the chatbot is asked again by itself: most faults are over a moment later. */
  retryFirstFault() {
    clearTimeout(this.retryTimer);
    if (this.isFirstFault) this.retryTimer = setTimeout(() => this.isFirstFault && this.retry(), RETRY_MS);
  }

  get isFirstFault() {
    return this.known.fault?.attempts === 1 && !this.known.fault.may_give_up && !this.known.progress?.thinking && !this.isRetrying;
  }

  /**
   * @param {Frame} frame
   * @param {boolean} isFirst
   */
  follow(frame, isFirst) {
    const isReply = REPLIES.has(frame.type);
    if (isReply) {
      this.alerts.announce(`${this.page.dataset.botName}: ${frame.turn.text}`);
      this.offerQuestion();
    }
    if (isFirst) return this.begin();
    if (isReply || ["turn_saved", "bot_failed"].includes(frame.type)) {
      this.follower.added(isReply ? this.list.element(frame.turn.position) : null);
    }
  }

  /** The page has just been filled: to the open question, or into the box where no keyboard covers the page. */
  begin() {
    this.follower.toStart(this.askedElement);
    const isFree = document.activeElement === document.body || document.activeElement?.id === "main";
    if (isFree && this.asking.asked) this.asking.focus();
    else if (isFree && hasKeyboard()) this.composer.focus();
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
    if (!this.maySend && this.asking.asked) return this.escape(true);
    if (!this.maySend || !text.trim() || this.composer.isTooLong) return this.render();
    this.asking.heldBack.flush();
    this.outbox.holdTurn(crypto.randomUUID?.() ?? fallbackKey(), text.trim(), this.rhythm?.take());
    this.composer.text = "";
    const turn = this.outbox.frames().find((frame) => frame.type === "turn");
    if (turn) this.connection.send(turn);
    this.render();
    this.follower.toEnd();
  }

  /** Write although a question waits; `text` was typed before the box had the focus. @param {string} text */
  write(text) {
    this.isWriting = true;
    this.render();
    this.composer.take(text);
  }

  /** Between the message and the question; without a question to Finish, and out of a change. @param {boolean} isInText */
  escape(isInText) {
    const { asked } = this.asking;
    if (this.asking.change) this.asking.keep();
    else if (this.wayBack) return this.goOn();
    else if (isInText && asked) {
      this.isWriting = false;
      this.render();
      this.asking.focus();
      return this.showAsked();
    }
    if (isInText || this.isOver) this.finish.button.focus();
    else this.write("");
  }

  /** After the last answer about a reply: to the next question, or to the box. @param {Event} event */
  moveOn(event) {
    this.isWriting = false;
    this.render();
    this.follower.added(null);
    if (this.asking.asked) this.showAsked();
    else if (this.isRating) this.endRating();
    else if (this.isOver) this.finish.button.focus({ preventScroll: true });
    else if (wantsMessageBox(event)) this.composer.focus();
  }

  /** @param {string} subject @param {import("../kit/answers.js").Answers} answers */
  vote(subject, answers) {
    this.outbox.holdLabel(subject, answers);
    const frame = this.outbox.frameOf(subject);
    if (frame) this.connection.send(frame);
    this.render();
  }

  endRating() {
    this.isRating = false;
    this.render();
    this.confirmFinish();
  }

  /** Out of the questions about the whole, back to talking; null where nothing more can be said. */
  get wayBack() {
    return this.isRating && this.maySend ? { label: gettext("Keep talking"), act: () => this.goOn() } : null;
  }

  goOn() {
    this.isRating = false;
    this.write("");
  }

  retry() {
    this.isRetrying = this.connection.send({ type: "retry" });
    this.render();
  }

  /** Before the end come the questions about the whole, unless they are answered. */
  confirmFinish() {
    if (this.unrated.length) {
      this.isRating = true;
      this.isWriting = false;
      this.render();
      return this.showAsked();
    }
    const say = gettext("After that you cannot write any more or change an answer.");
    this.alerts.ask(gettext("Finish the conversation?"), say, gettext("Yes, finish"), () => this.end("finish"));
  }

  /** Finish was pressed too early: to what is missing. */
  toUnjudged() {
    const [first] = this.unjudged;
    if (first !== undefined && !this.asking.asked) this.asking.ask(first);
    this.render();
    this.showAsked();
    setText(byId("hint"), this.obstacle);
  }

  /** @param {"finish" | "give_up" | "end_alone"} type */
  end(type) {
    this.asking.heldBack.flush();
    this.isFinishing = this.connection.send({ type });
    this.render();
  }

  // --- what follows from both ---

  get maySend() {
    return Boolean(this.known.progress?.may_send) && this.outbox.held.turn === null;
  }

  /** What of single turns has to be answered and is not, neither saved nor on its way. */
  get unjudged() {
    return this.asking.unjudged(this.asks.required(this.known.turns));
  }

  /** What of the whole conversation is asked and not answered. */
  get unrated() {
    return this.asking.unjudged(this.asks.atEnd);
  }

  /** What must be answered before anything else can happen. @returns {string | null} */
  get waiting() {
    const { progress } = this.known;
    if (!progress) return null;
    const { unjudged } = this;
    if (progress.thinking) return unjudged.find((subject) => this.asks.of(subject).moment === "waiting") ?? null;
    if (unjudged.length) return progress.may_send ? null : unjudged[0];
    return this.isRating || isLastTurn(progress) ? this.unrated[0] ?? null : null;
  }

  get askedElement() {
    const { asked } = this.asking;
    const position = asked && partsOf(asked.subject).position;
    return position === null ? null : this.list.element(position);
  }

  get isOver() {
    const { progress, fault } = this.known;
    return progress !== null && !fault && isLastTurn(progress) && !this.unjudged.length && !this.unrated.length;
  }

  /** Why the conversation cannot be finished now; "" if it can. */
  get obstacle() {
    const { progress } = this.known;
    if (!progress) return gettext("Connecting …");
    if (this.known.fault) return gettext("The chatbot could not answer: let it try again.");
    const obstacle = whyNotFinish(progress, {
      judged: this.count.done,
      unjudged: this.unjudged.length,
      areJudged: this.asks.judgesTurns,
    });
    if (obstacle) return obstacle;
    if (this.connection?.state !== "open") return gettext("Not connected: finish when the connection is back.");
    if (!this.outbox.isEmpty) return gettext("Your last answer is being saved.");
    if (this.unrated.length) return this.isRating ? gettext("Answer the questions, then finish.") : "";
    if (!progress.may_finish) return gettext("Your last answer is being saved.");
    return this.isFinishing ? gettext("Finishing …") : this.asking.asked ? gettext("Answer the question, then finish.") : "";
  }

  /** To the question and the reply that it is about. */
  showAsked() {
    this.asking.focus();
    const element = this.askedElement;
    if (element && !isInView(element)) element.scrollIntoView({ block: isDocked() ? "center" : "start" });
  }

  /** Move to the question of a new reply, unless the worker is writing. */
  offerQuestion() {
    const { activeElement } = document;
    const isFree = !activeElement || activeElement === document.body || activeElement.id === "message";
    if (!this.isWriting && (isFree || byId("fault").contains(activeElement))) this.asking.focus();
  }

  get mode() {
    if (this.isOver) return "over";
    if (!this.asking.asked) return "write";
    return this.isWriting ? "both" : "ask";
  }

  render() {
    if (this.known.finished) return;
    const { turns, progress, fault, isStarting, refusal } = this.known;
    const { turn: pending } = this.outbox.held;
    const state = this.connection?.state ?? "connecting";
    const isOpen = state === "open";
    const { mode } = this;
    this.dock.dataset.mode = mode;
    byId("composer").inert = mode === "ask" || mode === "over";
    this.list.show(
      turns,
      (turn, ask) => this.judgmentOf(turn, ask, isOpen),
      pending && { text: pending.text, mark: isOpen ? gettext("Sending …") : gettext("Not sent yet"), isBad: !isOpen },
    );
    this.asking.render(); // after its subject has come on the page
    showConnection(state, writing());
    showSaved(state, this.outbox.isEmpty);
    this.alerts.showRefusal(refusal);
    const isRetrying = this.isRetrying || Boolean(fault && progress?.thinking);
    this.alerts.showFault(fault, { isOpen, isRetrying });
    this.composer.unlock(this.maySend);
    if (!progress) return;
    this.alerts.showThinking(isRetrying || (this.company ? this.company.isWriting(progress) : progress.thinking), isStarting);
    this.company?.show(this.known.company);
    setText(byId("hint"), this.hint(progress.hint));
    this.showFinish(mode);
    showProgress({ ...this.count, text: this.progressInWords(this.count) });
  }

  /** @param {{done: number, of: number, isAll: boolean}} count */
  progressInWords({ done, of, isAll }) {
    if (!isAll) return gettext("Reply %(n)s of %(all)s", { n: done + 1, all: of });
    return this.asks.judgesTurns ? judgedInWords({ done, of, isAll }) : gettext("Long enough");
  }

  /** Replies judged, sent or not, against those wanted. */
  get count() {
    const { turns, progress } = this.known;
    const replies = turns.filter(({ speaker, counted }) => speaker !== "human" && counted);
    const open = new Set(this.unjudged.map((subject) => partsOf(subject).position));
    const done = replies.filter(({ position }) => !open.has(position)).length;
    const wanted = progress?.labels_needed ?? 1;
    return { done, of: wanted, isAll: done >= wanted };
  }

  /** @param {string} mode */
  showFinish(mode) {
    const { obstacle } = this;
    const isNear = mode === "over" || (mode === "write" && !obstacle);
    this.finish.show(obstacle, isNear);
    setText(byId("why-not"), obstacle);
  }

  /** @param {string} serverHint */
  hint(serverHint) {
    const { asked, attention } = this.asking;
    if (this.mode === "ask" && asked) {
      if (!attention.isRead(asked.subject)) return gettext("Read the reply to the end, then answer.");
      if (partsOf(asked.subject).position === null) return gettext("About the whole conversation. Scroll up to read it again.");
      return this.composer.text ? gettext("What you have written is kept; Esc goes back to it.") : gettext("You can change your answer later.");
    }
    if (this.outbox.held.turn) {
      return this.connection?.state === "open" ? gettext("Your message is being sent.") : gettext("Your message is kept and will be sent later.");
    }
    if (this.composer.isTooLong) return gettext("Shorten your message to send it.");
    if (this.mode === "both") return gettext("Answer the question first: Esc goes to it.");
    return this.outbox.isEmpty ? serverHint : "";
  }

  /**
   * @param {Turn} turn
   * @param {Ask} ask
   * @param {boolean} isOpen
   * @returns {import("./turns.js").Judgment}
   */
  judgmentOf({ position }, { number }, isOpen) {
    const subject = subjectOf(position, number);
    const answers = this.asking.answersOf(subject);
    if (this.asking.asked?.subject === subject) return { state: "asked", text: "", answers: answers ?? {} };
    if (!answers) return { state: this.known.progress?.may_send ? "unjudged" : "", text: "", answers: {} };
    const isHeld = subject in this.outbox.held.labels;
    const text = inShort(this.asking.questionsOf(subject), answers);
    return { state: isHeld ? (isOpen ? "saving" : "unsaved") : "saved", text, answers };
  }
}

/** Id of a turn; "" of the whole conversation. @param {number | null} position */
function turnNamed(position) {
  return position === null ? "" : `turn-${position}`;
}

/** @param {Event} event */
function wantsMessageBox(event) {
  const byKeyboard = event instanceof KeyboardEvent || (event instanceof MouseEvent && event.detail === 0);
  return byKeyboard || hasKeyboard();
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
