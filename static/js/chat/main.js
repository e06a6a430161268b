/** The chat page: receives frames of the server, handles what the worker does, and updates the parts of the page. */

import { Rhythm } from "../kit/rhythm.js";
import { Composer, hasKeyboard } from "../kit/composer.js";
import { Connection } from "../kit/connection.js";
import { byId, setText } from "../kit/dom.js";
import { Finish } from "../kit/finish.js";
import { gettext } from "../kit/gettext.js";
import { explain } from "../kit/help.js";
import { newKey } from "../kit/key.js";
import { listenToKeys } from "../kit/keyboard.js";
import { lastingStorage, Outbox } from "../kit/outbox.js";
import { isDocked, isInView } from "../kit/sight.js";
import { showConnection, showProgress, showSaved, writing } from "../kit/status.js";
import { partsOf, subjectOf } from "../kit/subjects.js";
import { Alerts } from "./alerts.js";
import { Partner } from "./partner.js";
import { PictureDraft } from "./pictures.js";
import { GrowingReply } from "./growing.js";
import { Labels } from "./labels.js";
import { Follower } from "./scroll.js";
import { Situation } from "./situation.js";
import { TurnList } from "./turns.js";
import { Versions } from "./versions.js";
import { Waiting } from "./waiting.js";
import { hintOf, obstacleTo, progressInWords } from "./words.js";
import { Work } from "./work.js";

/**
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {import("./asks.js").Ask} Ask
 * @typedef {{socket: string, asks: Ask[], max_chars: number, dialogue: string, person: boolean, notes_typing: boolean, disclosed: boolean,
 *            may_stop: boolean, max_versions: number, pictures?: {upload: string, max_bytes: number}}} Settings
 */

const REPLIES = new Set(["bot_turn", "partner_turn"]);

/** Turns that are on the page from the start are not announced. */
const HISTORY_MS = 500;
/** Overrides and isolates of the writing direction, which could make a text look like another one. */
const DIRECTION_MARKS = /[\u202a-\u202e\u2066-\u2069]/g;

/** After the first fault of a reply. */
const RETRY_MS = 2000;

class Chat {
  /** @param {Settings} settings */
  constructor(settings) {
    const storage = lastingStorage();
    this.outbox = new Outbox(storage, settings.dialogue, (subject, answers) => ({
      type: "label",
      ...partsOf(subject),
      answers,
      ...(settings.max_versions > 1 && this.work.versionOf(partsOf(subject).position)),
    }));
    this.work = new Work(this.outbox);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.retryTimer = undefined;
    /** True once the server was told that the worker writes. */
    this.hasBegun = false;

    this.page = byId("chat");
    this.dock = byId("dock");
    this.alerts = new Alerts({ retry: () => this.retry(), giveUp: () => this.end("give_up") });
    this.waiting = new Waiting({ mayEnd: !settings.person, onEnd: () => this.alerts.askToEnd(() => this.end("give_up")) });
    this.partner = settings.person ? this.makePartner(settings.disclosed) : null;
    this.finish = new Finish({ onFinish: () => this.confirmFinish(), onRefused: () => this.toUnjudged() });
    this.follower = new Follower(byId("new-reply"));
    this.situation = new Situation();
    this.labels = this.makeLabels(settings.asks);
    this.asking = this.labels.asking;
    this.list = new TurnList(byId("turns"), {
      botName: this.page.dataset.botName ?? "",
      asksOf: (turn) => this.labels.asks.about(turn),
      onChange: (position, ask) => this.asking.ask(subjectOf(position, ask)),
      onVote: (position, ask, key, value) => this.vote(subjectOf(position, ask), { [key]: value }),
      onShown: (turn, element) => this.labels.meet(turn, element),
    });
    this.growing = this.makeGrowing(settings.may_stop);
    this.versions = new Versions(settings.max_versions, (frame) => this.connection.send(frame));
    this.composer = new Composer(
      { form: byId("composer"), box: byId("message"), send: byId("send"), count: byId("count") },
      {
        maxChars: settings.max_chars,
        onDraft: (text) => this.onDraft(text),
        onSend: (text) => this.send(text),
      },
    );
    this.pictures = settings.pictures
      ? new PictureDraft(this.outbox, { upload: settings.pictures.upload, maxBytes: settings.pictures.max_bytes, onChange: () => this.render() })
      : null;
    this.labels.meetWhole();
    this.listen(storage);
    explain(settings.asks.flatMap(({ questions }) => questions));
    byId("unready").remove();
    this.page.hidden = false;
    if (this.partner && document.hidden) this.alerts.markUnread();
    this.composer.text = this.outbox.draftOf();
    this.rhythm = settings.notes_typing ? new Rhythm(/** @type {HTMLTextAreaElement} */ (byId("message"))) : null;
    this.connection = new Connection(settings.socket, {
      onFrame: (frame) => this.onFrame(frame),
      onState: (state) => {
        this.work.line = state;
        this.render();
      },
    });
  }

  /** @param {boolean} isDisclosed */
  makePartner(isDisclosed) {
    return new Partner({
      isDisclosed,
      onTyping: () => void this.connection.send({ type: "typing" }),
      onChange: () => this.render(),
      onEnd: () => this.alerts.askToEnd(() => this.end("end_alone")),
    });
  }

  /** @param {boolean} mayStop */
  makeGrowing(mayStop) {
    return new GrowingReply({
      list: byId("turns"),
      botName: this.page.dataset.botName ?? "",
      mayStop,
      isKnown: (position) => this.list.element(position) !== null,
      onBegun: () => this.render(),
      onGrown: (reply) => this.follower.grown(reply),
      onStop: (position) => this.connection.send({ type: "stop", position }),
    });
  }

  /** @param {Ask[]} asks */
  makeLabels(asks) {
    return new Labels(this.work, asks, {
      dock: this.dock,
      elementOf: (position) => this.list.element(position),
      page: {
        send: (frame) => void this.connection.send(frame),
        done: (_, event) => this.moveOn(event),
        changed: () => this.render(),
        cancel: () => this.cancelRating,
      },
    });
  }

  /** @param {import("../kit/outbox.js").Store} storage */
  listen(storage) {
    listenToKeys({
      openGroup: () => this.asking.group,
      mayAnswer: () => this.asking.attention.mayPress && !this.isAway,
      early: () => (this.isAway ? this.labels.showAsked() : this.asking.onEarlyKey()),
      takeBack: () => this.asking.heldBack.takeBack(),
      takeText: (text) => this.write(text),
      escape: (isInText) => this.escape(isInText),
      storage,
      toggle: byId("single-keys"),
    });
  }

  /** True if the reply of the open question is scrolled out of view. */
  get isAway() {
    return isDocked() && !isInView(this.labels.askedElement);
  }

  // --- frames from the server ---

  /** @param {Frame} frame */
  onFrame(frame) {
    if (frame.type === "are_you_there") return void this.connection.send({ type: "here" });
    if (frame.type === "partner_typing") return this.partner?.typed();
    if (frame.to) return this.leave(frame.to);
    if (this.growing.onFrame(frame)) return;
    const { work } = this;
    const isFirst = work.dialogue.progress === null;
    const { turn: sent } = this.outbox.held;
    work.onFrame(frame);
    this.pictures?.settle(sent, frame);
    this.versions.onFrame(frame);
    if (frame.type === "state") this.outbox.frames().forEach((pending) => this.connection.send(pending));
    if (frame.type === "refused" && frame.key) this.composer.text = this.outbox.draftOf();
    if (work.dialogue.finished) return this.leave(work.dialogue.finished);
    this.situation.fold(work.hasSaved);
    if (REPLIES.has(frame.type)) this.partner?.hasWritten();
    if (REPLIES.has(frame.type)) work.isWriting = this.composer.hasFocus && this.composer.text !== "";
    this.render();
    this.follow(frame, isFirst);
    this.retryFirstFault();
  }

  /** Retry automatically after the first fault of a reply: most faults are short. */
  retryFirstFault() {
    clearTimeout(this.retryTimer);
    if (this.work.isFirstFault) this.retryTimer = setTimeout(() => this.work.isFirstFault && this.retry(), RETRY_MS);
  }

  /**
   * @param {Frame} frame
   * @param {boolean} isFirst
   */
  follow(frame, isFirst) {
    const isReply = REPLIES.has(frame.type);
    if (isReply) {
      this.alerts.announce();
      this.labels.offerQuestion();
    }
    if (frame.type === "turn_saved" && this.asking.current) this.labels.offerQuestion(); // about this message
    if (isFirst) return this.begin();
    if (isReply && this.growing.hasShown(frame.turn.position)) return this.follower.completed(this.list.element(frame.turn.position));
    if (isReply || ["turn_saved", "bot_failed"].includes(frame.type)) {
      this.follower.added(isReply ? this.list.element(frame.turn.position) : null);
    }
  }

  /** After the first frame, focus the open question, or the message box where no on-screen keyboard would cover the page. */
  begin() {
    this.follower.toStart(this.labels.askedElement);
    setTimeout(() => this.list.announceFromNowOn(), HISTORY_MS);
    const isFree = document.activeElement === document.body || document.activeElement?.id === "main";
    if (isFree && this.asking.current) this.asking.focus();
    else if (isFree && hasKeyboard()) this.composer.focus();
  }

  /** @param {string} url */
  leave(url) {
    this.connection.leave("ended");
    this.outbox.forget();
    this.alerts.leaving(url);
    location.replace(url);
  }

  // --- actions of the worker ---

  /** @param {string} text */
  onDraft(text) {
    this.outbox.keepDraft(text);
    if (text) this.work.hasLostMarks = false;
    if (!text || !this.work.maySend) return;
    if (this.partner) this.partner.type();
    else if (!this.hasBegun) this.hasBegun = this.connection.send({ type: "typing" }); // reserves the place
  }

  /** @param {string} text */
  send(text) {
    const { maySend } = this.work;
    if (!maySend && this.asking.current) return this.escape(true);
    if (maySend && !text.trim() && this.pictures?.next) return this.pictures.askForWords();
    if (!maySend || !text.trim() || this.composer.isTooLong || this.pictures?.isUploading) return this.render();
    this.asking.heldBack.flush();
    const cleaned = text.replace(DIRECTION_MARKS, "").trim(); // as the server does; the page mentions it
    this.work.hasLostMarks = cleaned !== text.trim();
    if (!cleaned) return this.render();
    this.outbox.holdTurn(newKey(), cleaned, this.rhythm?.take(), this.pictures?.nextFields);
    this.composer.text = "";
    const turn = this.outbox.frames().find((frame) => frame.type === "turn");
    if (turn) this.connection.send(turn);
    this.render();
    this.follower.toEnd();
  }

  /** Write although a question waits; `text` was typed before the box had the focus. @param {string} text */
  write(text) {
    this.work.isWriting = true;
    this.render();
    this.composer.take(text);
  }

  /** Move the focus between message and question; without a question to Finish; leave a change of an answer. @param {boolean} isInText */
  escape(isInText) {
    const { current } = this.asking;
    if (this.asking.change) this.asking.keep();
    else if (this.cancelRating) return this.goOn();
    else if (isInText && current) {
      this.work.isWriting = false;
      this.render();
      this.asking.focus();
      return this.labels.showAsked();
    }
    if (isInText || this.labels.isOver) this.finish.button.focus();
    else this.write("");
  }

  /** After the last answer about a reply, focus the next question or the message box. @param {Event} event */
  moveOn(event) {
    this.work.isWriting = false;
    this.render();
    this.follower.added(null);
    if (this.asking.current) this.labels.showAsked();
    else if (this.work.isRating) this.endRating();
    else if (this.labels.isOver) this.finish.button.focus({ preventScroll: true });
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
    this.work.isRating = false;
    this.render();
    this.confirmFinish();
  }

  /** Button that returns from the questions about the whole to the conversation; null if it has no turns left. */
  get cancelRating() {
    return this.work.isRating && this.work.maySend ? { label: gettext("Keep talking"), act: () => this.goOn() } : null;
  }

  goOn() {
    this.work.isRating = false;
    this.write("");
  }

  retry() {
    this.work.isRetrying = this.connection.send({ type: "retry" });
    this.render();
  }

  // --- the end ---

  /** Ask the open questions about the whole conversation first, then ask for confirmation. */
  confirmFinish() {
    if (this.labels.unrated.length) {
      this.work.isRating = true;
      this.work.isWriting = false;
      this.render();
      return this.labels.showAsked();
    }
    const unsent = this.composer.text.trim() && gettext("The message in the box has not been sent and will be lost.");
    const say = [gettext("After that you cannot write any more or change an answer."), unsent].filter(Boolean).join(" ");
    this.alerts.ask(gettext("Finish the conversation?"), say, gettext("Yes, finish"), () => this.end("finish"));
  }

  /** Show what is missing after Finish was pressed too early. */
  toUnjudged() {
    const [first] = this.labels.unjudged;
    if (first !== undefined && !this.asking.current) this.asking.ask(first);
    this.render();
    this.labels.showAsked();
  }

  /** @param {"finish" | "give_up" | "end_alone"} type */
  end(type) {
    this.asking.heldBack.flush();
    this.work.isFinishing = this.connection.send({ type });
    this.render();
  }

  // --- display ---

  render() {
    const { dialogue, isOpen, line, maySend, isTryingAgain } = this.work;
    if (dialogue.finished) return;
    const { mode } = this.labels;
    this.dock.dataset.mode = mode;
    byId("composer").inert = mode === "ask" || mode === "over";
    this.showTurns();
    this.asking.render(); // after its subject has come on the page
    showConnection(line, writing());
    showSaved(line, this.outbox.isEmpty, this.work.hasSaved);
    this.alerts.showRefusal(dialogue.refusal);
    this.alerts.showFault(dialogue.fault, { isOpen, isRetrying: isTryingAgain });
    this.composer.unlock(maySend && !this.pictures?.isUploading);
    this.pictures?.render();
    if (!dialogue.progress) return;
    const isWriting = this.partner ? this.partner.isWriting(dialogue.progress) : dialogue.progress.thinking;
    this.alerts.showThinking(isTryingAgain || isWriting, dialogue.isStarting && !this.growing.isShown);
    this.waiting.show(!this.partner && (isTryingAgain || isWriting) && !this.growing.isShown);
    this.partner?.show(dialogue.partner);
    this.showFinish(mode);
    setText(byId("hint"), this.finish.hintOr(hintOf(this.work, this.labels, this.composer)));
    showProgress({ ...this.labels.count, text: progressInWords(this.labels) });
  }

  showTurns() {
    const { dialogue, isOpen } = this.work;
    const { turn: pending } = this.outbox.held;
    this.list.show(
      dialogue.turns,
      (turn, ask) => this.labels.judgmentOf(turn, ask),
      pending && { text: pending.text, picture: pending.picture ? this.pictures?.sent : null, mark: isOpen ? gettext("Sending …") : gettext("Not sent yet"), isBad: !isOpen },
    );
    const reply = pending ? null : this.work.exchangeable;
    const mayChoose = reply && isOpen && !this.labels.isAnswered(reply);
    this.versions.show(mayChoose ? this.list.element(reply.position) : null, reply && (dialogue.versions ?? { position: reply.position, number: 1, of: 1 }));
  }

  /** @param {string} mode */
  showFinish(mode) {
    const obstacle = obstacleTo(this.work, this.labels);
    const isNear = mode === "over" || (mode === "write" && !obstacle);
    this.finish.show(obstacle, isNear);
    setText(byId("why-not"), obstacle);
  }
}

/** @param {Event} event */
function wantsMessageBox(event) {
  const byKeyboard = event instanceof KeyboardEvent || (event instanceof MouseEvent && event.detail === 0);
  return byKeyboard || hasKeyboard();
}

new Chat(JSON.parse(byId("chat-settings").textContent ?? "{}"));
