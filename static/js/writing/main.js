/** The page on which workers answer contexts one after the other, and can change their responses. */

import { Composer, hasKeyboard } from "../kit/composer.js";
import { Connection } from "../kit/connection.js";
import { byId, setText } from "../kit/dom.js";
import { finished, Finish } from "../kit/finish.js";
import { gettext, ngettext } from "../kit/gettext.js";
import { explain } from "../kit/help.js";
import { lastingStorage, Outbox } from "../kit/outbox.js";
import { showConnection, showProgress, showSaved, writing } from "../kit/status.js";
import { turn } from "../judge/item.js";
import { receive, UNKNOWN } from "./store.js";

/**
 * @typedef {import("./store.js").Work} Work
 * @typedef {import("./store.js").Item} Item
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {{socket: string, name: string, max_chars: number}} Settings
 */

class Writing {
  /** @param {Settings} settings */
  constructor(settings) {
    this.outbox = new Outbox(lastingStorage(), settings.name, (item, { text }) => ({ type: "write", item, text }));
    /** @type {Work} */
    this.work = UNKNOWN;
    /** The context that the worker went back to. @type {string | null} */
    this.chosen = null;
    /** @type {string | null | undefined} */
    this.shown = undefined;
    this.isFinishing = false;

    this.dock = byId("dock");
    this.finish = new Finish({ onFinish: () => this.end(), onRefused: () => this.refuse() });
    this.composer = new Composer(
      { form: byId("composer"), box: byId("message"), send: byId("send"), count: byId("count") },
      { maxChars: settings.max_chars, onDraft: (text) => this.keepDraft(text), onSend: (text) => this.send(text) },
    );
    byId("back").addEventListener("click", () => this.go(-1));
    byId("next").addEventListener("click", () => this.go(1));
    explain([]);
    byId("unready").remove();
    byId("writing").hidden = false;
    this.connection = new Connection(settings.socket, {
      onFrame: (frame) => this.onFrame(frame),
      onState: () => this.render(),
    });
  }

  // --- frames from the server ---

  /** @param {Frame} frame */
  onFrame(frame) {
    if (frame.type === "refused") this.returnToBox(frame);
    this.outbox.settle(frame);
    this.work = receive(this.work, frame);
    if (frame.type !== "written") this.isFinishing = false;
    if (frame.type === "state") this.outbox.frames().forEach((pending) => this.connection.send(pending));
    if (this.work.finished) return this.leave(this.work.finished);
    this.render();
  }

  /** Put a refused text back into the box. @param {Frame} refusal */
  returnToBox({ reason, item }) {
    const sent = this.outbox.held.labels[item]?.text;
    if (reason !== "unfit" || typeof sent !== "string") return;
    this.outbox.keepDraft(sent, item);
    if (item in this.work.saved) this.chosen = item;
    this.shown = undefined;
  }

  /** @param {string} url */
  leave(url) {
    this.connection.leave("ended");
    this.outbox.forget();
    byId("writing").replaceChildren(finished(url));
    location.replace(url);
  }

  // --- actions of the worker ---

  /** @param {string} text */
  keepDraft(text) {
    if (this.current !== null) this.outbox.keepDraft(text === this.work.saved[this.current] ? "" : text, this.current);
    this.render();
  }

  /** @param {string} text */
  send(text) {
    const { current } = this;
    if (current === null || this.isUnderWay(current) || !text.trim() || this.composer.isTooLong) return this.render();
    if (text.trim() !== this.work.saved[current]) {
      this.outbox.keepDraft("", current);
      this.outbox.holdLabel(current, { text: text.trim() });
      const frame = this.outbox.frameOf(current);
      if (frame) this.connection.send(frame);
    }
    this.work = { ...this.work, refusal: null };
    this.chosen = current in this.work.saved ? this.neighbour(current, 1) : null;
    this.render();
    this.focus();
  }

  /** @param {1 | -1} step */
  go(step) {
    const to = this.neighbour(this.current, step);
    if (step === -1 && to === null) return;
    this.chosen = to;
    this.work = { ...this.work, refusal: null };
    this.render();
    this.focus();
  }

  end() {
    this.isFinishing = this.connection.send({ type: "finish" });
    this.render();
  }

  refuse() {
    this.render();
    this.composer.focus();
  }

  // --- display ---

  /** True if the response was sent and not acknowledged. @param {string} item */
  isUnderWay(item) {
    return item in this.outbox.held.labels;
  }

  /** The context on the page; null: all are answered. @returns {string | null} */
  get current() {
    const { order, saved } = this.work;
    if (this.chosen !== null && order.includes(this.chosen)) return this.chosen;
    return order.find((item) => !(item in saved) && !this.isUnderWay(item)) ?? order.find((item) => !(item in saved)) ?? null;
  }

  /**
   * @param {string | null} item
   * @param {1 | -1} step
   * @returns {string | null}
   */
  neighbour(item, step) {
    const { order } = this.work;
    return order[(item === null ? order.length : order.indexOf(item)) + step] ?? null;
  }

  /** Why the work cannot be finished now; "" if it can. */
  get obstacle() {
    const { progress } = this.work;
    if (!progress) return gettext("Connecting …");
    if (!progress.may_finish) return gettext("Answer what is left, then finish.");
    if (this.connection?.state !== "open") return gettext("Not connected: finish when the connection is back.");
    if (!this.outbox.isEmpty) return gettext("Your last response is being saved.");
    return this.isFinishing ? gettext("Finishing …") : "";
  }

  focus() {
    if (this.current === null) byId("over").focus({ preventScroll: true });
    else if (hasKeyboard()) this.composer.focus();
  }

  render() {
    if (this.work.finished) return;
    const state = this.connection?.state ?? "connecting";
    const { current, obstacle } = this;
    const isOver = current === null && this.work.progress !== null;
    if (current !== this.shown && this.work.progress) this.show(current);
    this.dock.dataset.mode = isOver ? "over" : "write";
    byId("composer").inert = isOver;
    const isNewlyOver = isOver && byId("over").hidden;
    byId("over").hidden = !isOver;
    if (isNewlyOver && isFocusLost()) this.focus();
    this.finish.show(obstacle, isOver);
    setText(byId("why-not"), obstacle);
    this.showSent(current);
    this.composer.unlock(current !== null && !this.isUnderWay(current));
    byId("back").toggleAttribute("disabled", this.neighbour(current, -1) === null);
    byId("next").toggleAttribute("disabled", current === null || !(current in this.work.saved));
    setText(byId("hint"), this.finish.hintOr(this.hint(current)));
    byId("notice").hidden = !this.work.refusal;
    setText(byId("notice"), this.work.refusal ?? "");
    showConnection(state, writing());
    showSaved(state, this.outbox.isEmpty, Object.keys(this.work.saved).length > 0);
    this.showProgress();
  }

  /** @param {string | null} item */
  show(item) {
    const isFirst = this.shown === undefined;
    this.shown = item;
    byId("item").hidden = item === null;
    if (item === null) return;
    showContext(byId("turns"), this.work.items[item]);
    this.composer.text = this.outbox.draftOf(item) || (this.work.saved[item] ?? "");
    if (isFirst && isFocusLost()) this.focus();
  }

  /** Show the sent text under the context until it is saved and the next context has come. @param {string | null} item */
  showSent(item) {
    const text = item === null ? undefined : this.outbox.held.labels[item]?.text;
    const isHere = typeof text === "string";
    byId("sent").hidden = !isHere;
    if (!isHere) return;
    const isOpen = this.connection?.state === "open";
    setText(byId("sent-text"), text);
    setText(byId("sent-mark"), isOpen ? gettext("Sending …") : gettext("Not sent yet"));
    byId("sent-mark").classList.toggle("mark--bad", !isOpen);
    if (!this.composer.text || this.composer.text.trim() === text) this.composer.text = "";
  }

  /** @param {string | null} current */
  hint(current) {
    const { progress, saved } = this.work;
    if (!progress) return "";
    if (current === null) return progress.done < progress.size ? NOTHING_LEFT : ALL_WRITTEN;
    if (this.isUnderWay(current)) return this.connection?.state === "open" ? gettext("Your response is being saved.") : gettext("Your response is kept and will be sent later.");
    if (this.composer.isTooLong) return gettext("Shorten your response to send it.");
    if (current in saved) return gettext("You can change what you wrote, and send it again.");
    return hasKeyboard() ? gettext("Enter sends, Shift + Enter starts a new line.") : "";
  }

  showProgress() {
    const { progress } = this.work;
    if (!progress) return;
    const { done, size, may_finish: isAll } = progress;
    const count = { done, of: isAll ? Math.min(done, size) : size, isAll };
    showProgress({ ...count, text: inWords(count) });
  }
}

const NOTHING_LEFT = gettext("There is nothing left to write, so you are done early and paid in full.");
const ALL_WRITTEN = gettext("You can still go back and change one, or finish now.");

/** @param {{done: number, of: number, isAll: boolean}} progress  isAll: nothing more has to be written */
function inWords({ done, of, isAll }) {
  if (!isAll) return gettext("Response %(n)s of %(all)s", { n: done + 1, all: of });
  return done > of ? ngettext("%(n)s written", "%(n)s written", done) : ngettext("Written", "All %(n)s written", of);
}

/**
 * Show a context from its first line. The worker answers its last turn, which is the other person's; turns alternate.
 *
 * @param {HTMLElement} list
 * @param {Item} item
 */
function showContext(list, { turns, language }) {
  const [you, other] = [gettext("You"), gettext("Other person")];
  const names = turns.length % 2 ? [other, you] : [you, other];
  const rows = turns.map((utterance, position) => {
    const isLast = position === turns.length - 1;
    return turn(utterance, position, { isOwn: (turns.length - position) % 2 === 1, id: isLast ? "before" : "", names });
  });
  list.lang = language;
  list.replaceChildren(...rows);
  scrollTo({ top: 0 });
}

/** True if nothing has the focus, or only what was for an earlier context. */
function isFocusLost() {
  const { activeElement, body } = document;
  return !activeElement || activeElement === body || activeElement.id === "over" || activeElement.closest("[inert]") !== null;
}

new Writing(JSON.parse(byId("writing-settings").textContent ?? "{}"));
