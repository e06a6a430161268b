/** Preview of questions as workers see them, about an example. No answer leaves the page. */

import { Asking } from "../kit/asking.js";
import { byId, make, setText, textElement } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";
import { listenToKeys } from "../kit/keyboard.js";
import { fleetingStorage, Outbox } from "../kit/outbox.js";
import { describes, showItem } from "../judge/item.js";
import { describesPair, showPair } from "../pairs/pair.js";

/**
 * @typedef {import("../judge/store.js").Item} Item
 * @typedef {import("../kit/answers.js").Question} Question
 * @typedef {{about: string, questions: Question[], item: Item}} Settings
 */

/**
 * A conversation as the chatter sees it, beginning with the bot's turn.
 *
 * @param {HTMLElement} list
 * @param {Item} item
 */
function showTalk(list, { context }) {
  const texts = context.map((utterance, at) => textElement(utterance, null, { id: `said-${at}` }));
  const turns = texts.map((text, at) => {
    const name = make("span", { class: "visually-hidden" }, `${at % 2 ? gettext("You") : gettext("Chatbot")}: `);
    return make("li", { class: `turn turn--${at % 2 ? "human" : "bot"}` }, name, text);
  });
  list.replaceChildren(...turns);
  return { ends: texts.slice(-1), length: context.join("").length };
}

/** @param {Item} item */
function describesTalk({ context }) {
  return `said-${context.length - 1}`;
}

/**
 * Views of the example, by what the questions are about.
 *
 * @type {Record<string, {show: typeof showItem, describes: typeof describes}>}
 */
const PAGES = {
  turn: { show: showTalk, describes: describesTalk },
  dialogue: { show: showTalk, describes: describesTalk },
  person: { show: showTalk, describes: describesTalk },
  pair: { show: showPair, describes: describesPair },
};
const JUDGING = { show: showItem, describes };

class Preview {
  /** @param {Settings} settings */
  constructor({ about, questions, item }) {
    const { show, describes: described } = PAGES[about] ?? JUDGING;
    this.item = item;
    const storage = fleetingStorage();
    this.outbox = new Outbox(storage, "preview", (key, answers) => ({ type: "judge", item: key, answers }));
    this.dock = byId("dock");
    this.againButton = byId("again");
    this.asking = new Asking(questions, {
      dock: this.dock,
      place: byId("ask"),
      outbox: this.outbox,
      page: {
        waiting: () => (this.answers ? null : item.key),
        saved: () => ({}),
        describedBy: () => described(item),
        send: () => undefined,
        done: () => this.againButton.focus(),
        changed: () => this.render(),
      },
    });
    this.asking.keepRoom("");
    listenToKeys({
      openGroup: () => this.asking.group,
      mayAnswer: () => this.asking.attention.mayPress,
      early: () => this.asking.onEarlyKey(),
      takeBack: () => undefined,
      takeText: null,
      escape: () => this.asking.focus(),
      storage,
      toggle: /** @type {HTMLInputElement} */ (byId("single-keys")),
    });
    this.againButton.addEventListener("click", () => this.restart());
    byId("unready").remove();
    byId("judging").hidden = false;
    const { ends, length } = show(byId("turns"), item);
    this.asking.meet(item.key, ends, length);
    this.render();
  }

  get answers() {
    return this.outbox.held.labels[this.item.key];
  }

  restart() {
    this.outbox.dropLabel(this.item.key);
    this.render();
    this.asking.focus();
  }

  render() {
    const { answers } = this;
    this.asking.render();
    this.dock.dataset.mode = answers ? "over" : "ask";
    this.againButton.hidden = !answers;
    setText(byId("hint"), answers ? gettext("That is all. This would be stored: %(answers)s", { answers: JSON.stringify(answers) }) : "");
  }
}

new Preview(JSON.parse(byId("preview-settings").textContent ?? "{}"));
