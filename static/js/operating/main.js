/** Page of an operator, who answers in place of a bot: the queue, the open conversation, and one live connection. */

import { Composer, lengthOf } from "../kit/composer.js";
import { Connection } from "../kit/connection.js";
import { byId, make, setText } from "../kit/dom.js";
import { gettext, ngettext } from "../kit/gettext.js";
import { newKey } from "../kit/key.js";
import { Queue } from "./queue.js";
import { Talk } from "./talk.js";

/**
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {import("./queue.js").Conversation} Conversation
 * @typedef {{id: string, position: number, text: string, key: string}} Answer
 */

const CLOCK_MS = 1000;

class Operating {
  /** @param {{socket: string, max_chars: number}} settings */
  constructor(settings) {
    this.page = byId("operating");
    /** @type {string | null} */
    this.opened = null;
    /** Unsent drafts, by conversation. @type {Map<string, string>} */
    this.drafts = new Map();
    /** Answers that were sent and not yet acknowledged, by conversation. @type {Map<string, Answer>} */
    this.sent = new Map();
    this.title = document.title;
    this.queue = new Queue(byId("queue"), (id) => this.open(id));
    this.talk = new Talk();
    const takesNew = /** @type {HTMLInputElement} */ (byId("takes-new"));
    this.takesNew = takesNew;
    takesNew.addEventListener("change", () => this.connection.send({ type: "take_new", wanted: takesNew.checked }));
    this.composer = new Composer(
      {
        form: byId("composer"),
        box: byId("message"),
        send: byId("send"),
        count: byId("count"),
      },
      {
        maxChars: settings.max_chars,
        onDraft: (text) => this.onDraft(text),
        onSend: (text) => this.answer(text),
      },
    );
    byId("take").addEventListener("click", () => this.opened && this.connection.send({ type: "open", id: this.opened, take: true }));
    byId("back").addEventListener("click", () => this.back());
    document.addEventListener("keydown", (event) => this.onKeyDown(event));
    for (const button of byId("operating").querySelectorAll("[data-text]")) {
      button.addEventListener("click", () => this.insert(/** @type {HTMLElement} */ (button).dataset.text ?? ""));
    }
    byId("unready").remove();
    this.page.hidden = false;
    setInterval(() => this.queue.tick(), CLOCK_MS);
    this.connection = new Connection(settings.socket, {
      onFrame: (frame) => this.onFrame(frame),
      onState: (state) => this.showConnection(state),
    });
  }

  // --- frames from the server ---

  /** @param {Frame} frame */
  onFrame(frame) {
    if (frame.type === "are_you_there") return void this.connection.send({ type: "here" });
    if (frame.type === "state") this.begin(frame);
    if (frame.type === "conversations" || frame.type === "state") this.list(frame);
    if (frame.type === "takes_new") this.takesNew.checked = frame.wanted;
    if (frame.type === "conversation" && frame.id === this.opened) this.show(frame);
    if (frame.type === "closed" && frame.id === this.opened) this.onClosed();
    if (frame.type === "answer_saved") this.onAnswerSaved(frame.id);
    if (frame.type === "refused") this.onRefused(frame);
    this.render();
  }

  /** @param {Frame} frame */
  begin(frame) {
    this.takesNew.checked = frame.takes_new;
    if (this.opened) this.connection.send({ type: "open", id: this.opened });
    for (const answer of this.sent.values()) this.connection.send({ type: "answer", ...answer });
  }

  /** @param {Frame} frame */
  list(frame) {
    this.queue.take(frame.conversations, frame.now);
    const n = this.queue.waiting.length;
    setText(byId("waiting"), n ? ngettext("%(n)s waits for a reply", "%(n)s wait for a reply", n) : gettext("Nobody waits for a reply"));
    document.title = n ? `(${n}) ${this.title}` : this.title;
    byId("nobody").hidden = this.queue.all.length > 0;
  }

  /** @param {Frame} frame */
  show(frame) {
    const news = this.talk.show(frame);
    if (news) byId("announcer").replaceChildren(make("p", {}, news));
  }

  onClosed() {
    if (this.opened) this.drafts.delete(this.opened);
    this.talk.showMessage(gettext("This conversation is over: it has ended, or the participant has left."));
  }

  /** @param {string} id */
  onAnswerSaved(id) {
    this.sent.delete(id);
    this.queue.markAnswered(id);
    this.talk.showMessage("");
  }

  /** @param {Frame} frame */
  onRefused(frame) {
    const answer = frame.key ? [...this.sent.values()].find(({ key }) => key === frame.key) : undefined;
    if (answer) {
      this.sent.delete(answer.id);
      this.drafts.set(answer.id, answer.text);
      if (answer.id === this.opened && !this.composer.text) this.composer.text = answer.text;
    }
    if (this.connection.state === "refused" || !this.opened) return this.showMessage(frame.say);
    this.talk.showMessage(frame.say);
  }

  /** @param {import("../kit/connection.js").ConnectionState} state */
  showConnection(state) {
    if (state === "waiting") this.showMessage(gettext("The connection is lost. Trying again; nobody new is admitted meanwhile."));
    else if (state === "open") this.showMessage("");
    this.render();
  }

  /** @param {string} text */
  showMessage(text) {
    const line = byId("connection");
    line.hidden = !text;
    setText(line, text);
  }

  // --- actions of the operator ---

  /** @param {string} id */
  open(id) {
    this.opened = id;
    this.page.dataset.view = "talk";
    this.talk.begin(this.queue.of(id));
    this.composer.text = this.drafts.get(id) ?? "";
    this.connection.send({ type: "open", id });
    this.render();
    this.composer.focus();
  }

  /** @param {string} text */
  onDraft(text) {
    if (this.opened) this.drafts.set(this.opened, text);
    this.render();
  }

  back() {
    this.page.dataset.view = "list";
    byId("list-title").focus();
  }

  /** @param {string} text */
  answer(text) {
    const { opened } = this;
    const position = this.talk.due;
    if (!opened || position === null || !this.maySend || !text.trim() || this.composer.isTooLong) return this.render();
    const answer = { id: opened, position, text: text.trim(), key: newKey() };
    this.sent.set(opened, answer);
    this.drafts.delete(opened);
    this.composer.text = "";
    this.connection.send({ type: "answer", ...answer });
    this.render();
  }

  /** @param {string} text */
  insert(text) {
    if (!this.opened) return;
    const before = this.composer.text;
    this.composer.take(before && !/\s$/.test(before) ? ` ${text}` : text);
  }

  /** @param {KeyboardEvent} event */
  onKeyDown(event) {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    const act = this.actOf(event.code);
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** @param {string} code @returns {(() => void) | undefined} */
  actOf(code) {
    if (code === "ArrowDown" || code === "ArrowUp") return () => this.move(code === "ArrowDown" ? 1 : -1);
    if (code === "KeyJ") return () => this.toLongestWait();
    const button = /^Digit[1-9]$/.test(code) && byId("operating").querySelectorAll("[data-text]")[Number(code.at(-1)) - 1];
    return button ? () => this.insert(/** @type {HTMLElement} */ (button).dataset.text ?? "") : undefined;
  }

  /** Open the conversation that has waited longest; one that was just answered may still be on the list. */
  toLongestWait() {
    const next = this.queue.waiting.find(({ id }) => !this.sent.has(id));
    if (next) this.open(next.id);
  }

  /** @param {1 | -1} step */
  move(step) {
    const { all } = this.queue;
    const at = all.findIndex(({ id }) => id === this.opened);
    const next = all[at < 0 ? 0 : (at + step + all.length) % all.length];
    if (next) this.open(next.id);
  }

  // --- display ---

  get maySend() {
    const conversation = this.opened && this.queue.of(this.opened);
    return Boolean(conversation && conversation.mine && this.talk.due !== null && !this.sent.has(conversation.id));
  }

  render() {
    const conversation = this.opened ? this.queue.of(this.opened) : undefined;
    byId("talk").hidden = !this.opened;
    byId("none").hidden = Boolean(this.opened);
    this.queue.render(this.opened);
    this.talk.render(conversation, this.opened ? this.sent.get(this.opened)?.text : undefined);
    this.composer.unlock(this.maySend && lengthOf(this.composer.text.trim()) > 0);
    byId("composer").hidden = !conversation?.mine;
    const isWorkers = Boolean(conversation?.mine) && this.talk.due === null;
    setText(byId("hint"), isWorkers ? gettext("It is the participant's turn. You can write ahead.") : "");
  }
}

new Operating(JSON.parse(byId("operating-settings").textContent ?? "{}"));
