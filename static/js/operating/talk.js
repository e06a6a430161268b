/** The conversation that an operator has open. */

import { byId, make, setText, textElement } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";

/**
 * @typedef {import("../kit/outbox.js").Frame} Frame
 * @typedef {import("./queue.js").Conversation} Conversation
 * @typedef {{position: number, mine: boolean, text: string}} Turn
 */

export class Talk {
  constructor() {
    this.list = byId("turns");
    /** @type {string | null} */
    this.id = null;
    /** @type {Turn[]} */
    this.turns = [];
    /** @type {{position: number, text: string} | null} */
    this.held = null;
    this.counted = 0;
    this.most = 0;
  }

  /** @param {Conversation | undefined} conversation */
  begin(conversation) {
    if (conversation?.id === this.id) return;
    this.id = conversation?.id ?? null;
    this.turns = [];
    this.held = null;
    this.list.replaceChildren();
    byId("reads").replaceChildren();
    this.showMessage("");
  }

  /** @param {Frame} frame @returns {string} the newest message, if it is new; else "" */
  show(frame) {
    const before = this.turns.length;
    this.turns = frame.turns;
    this.held = frame.held;
    this.counted = frame.counted;
    this.most = frame.max_turns;
    for (const turn of this.turns.slice(before)) this.list.append(rowOf(turn));
    if (this.turns.length > before) this.list.scrollTop = this.list.scrollHeight;
    if (!byId("reads").hasChildNodes() && frame.reads.length) this.showReads(frame.reads);
    const last = this.turns.at(-1);
    return before && last && this.turns.length > before && !last.mine ? last.text : "";
  }

  /** @param {{title: string, text: string}[]} reads */
  showReads(reads) {
    const texts = reads.map(({ title, text }) => make("details", { open: "" }, make("summary", {}, title), make("p", { class: "operating__read", dir: "auto" }, text)));
    byId("reads").replaceChildren(make("h2", {}, gettext("What the chatbot has read")), ...texts);
  }

  /** The position at which a reply is due; null if none is. */
  get due() {
    const last = this.turns.at(-1);
    return last && !last.mine && !this.held ? last.position + 1 : null;
  }

  /** @param {string} text */
  showMessage(text) {
    const trouble = byId("trouble");
    trouble.hidden = !text;
    setText(trouble, text);
  }

  /** @param {Conversation | undefined} conversation @param {string | undefined} sent  not yet saved */
  render(conversation, sent) {
    if (conversation) {
      setText(byId("talk-title"), gettext("Conversation %(number)s", { number: conversation.name }));
      const about = gettext("%(study)s · %(n)s of at most %(most)s turns", { study: conversation.study, n: this.counted, most: this.most });
      setText(byId("talk-about"), this.most ? about : conversation.study);
    }
    const held = byId("held");
    held.hidden = !this.held && !sent;
    setText(held, this.held ? gettext("Saved, and shown in a moment: “%(text)s”", { text: this.held.text }) : gettext("saving …"));
    const others = byId("others");
    others.hidden = !conversation || conversation.mine;
    if (!conversation) return;
    const { free, operator } = conversation;
    byId("take").hidden = !free;
    const ownerText = operator ? gettext("%(operator)s is away.", { operator }) : gettext("Nobody has this conversation yet.");
    setText(byId("others-text"), free ? ownerText : gettext("%(operator)s answers here.", { operator }));
  }
}

/** @param {Turn} turn */
function rowOf({ mine, text }) {
  const who = make("span", { class: "visually-hidden" }, `${mine ? gettext("You") : gettext("Participant")}: `);
  return make("li", { class: `turn turn--${mine ? "human" : "bot"}` }, who, textElement(text));
}
