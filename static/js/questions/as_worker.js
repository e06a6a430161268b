/** Questions in the worker's dock, about something to try them on. Nothing that is answered leaves the page. */

import { Asking } from "../kit/asking.js";
import { byId, setText } from "../kit/dom.js";
import { listenToKeys } from "../kit/keyboard.js";
import { fleetingStorage, Outbox } from "../kit/outbox.js";
import { describes, showItem } from "../judge/item.js";

/**
 * @typedef {import("../judge/store.js").Item} Item
 * @typedef {import("../kit/answers.js").Question} Question
 * @typedef {{questions: Question[], item: Item}} Settings
 */

class Preview {
  /** @param {Settings} settings */
  constructor({ questions, item }) {
    this.item = item;
    const storage = fleetingStorage();
    this.outbox = new Outbox(storage, "preview", (key, answers) => ({ type: "judge", item: key, answers }));
    this.dock = byId("dock");
    this.again = byId("again");
    this.asking = new Asking(questions, {
      dock: this.dock,
      place: byId("ask"),
      outbox: this.outbox,
      page: {
        waiting: () => (this.answers ? null : item.key),
        saved: () => ({}),
        describedBy: () => describes(item),
        send: () => undefined,
        done: () => this.again.focus(),
        changed: () => this.render(),
      },
    });
    this.asking.keepRoom("");
    listenToKeys({
      openGroup: () => this.asking.group,
      mayAnswer: () => this.asking.attention.mayPress,
      early: () => this.asking.show(),
      takeBack: () => undefined,
      takeText: null,
      escape: () => this.asking.focus(),
      storage,
      toggle: /** @type {HTMLInputElement} */ (byId("single-keys")),
    });
    this.again.addEventListener("click", () => this.restart());
    byId("unready").remove();
    byId("judging").hidden = false;
    const { ends, length } = showItem(byId("turns"), item);
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
    this.again.hidden = !answers;
    setText(byId("hint"), answers ? `That is all. Stored would be ${JSON.stringify(answers)}` : "");
  }
}

new Preview(JSON.parse(byId("preview-settings").textContent ?? "{}"));
