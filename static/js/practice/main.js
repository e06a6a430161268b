/** Practice before the work: examples with questions in the dock, and the answers of their author. */

import { complete } from "../kit/answers.js";
import { collect, fillForm } from "../kit/collecting.js";
import { byId, make, setText } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";
import { fleetingStorage, Outbox } from "../kit/outbox.js";
import { isDocked } from "../kit/sight.js";
import { describesExample, showExample } from "./example.js";
import { verdicts } from "./verdict.js";

/**
 * @typedef {import("./example.js").Example} Example
 * @typedef {import("../kit/answers.js").Question} Question
 * @typedef {{sets: Question[][], examples: Example[], language: string}} Settings
 */

class Practice {
  /** @param {Settings} settings */
  constructor({ sets, examples, language }) {
    this.sets = sets;
    this.examples = examples;
    this.language = language;
    this.outbox = new Outbox(fleetingStorage(), "practice", (item, answers) => ({ type: "judge", item, answers }));
    this.at = 0;
    this.shown = -1;
    this.dock = byId("dock");
    this.asking = collect({
      outbox: this.outbox,
      questions: (key) => sets[this.example(key).set],
      all: sets.flat(),
      first: examples[0].key,
      pageId: "judging",
      waiting: () => (this.isOver || this.answers ? null : this.current.key),
      describedBy: (key) => describesExample(this.example(key)),
      done: () => this.showFeedback(),
      changed: () => this.render(),
      restart: () => this.restart(),
    });
    byId("next").addEventListener("click", () => this.next());
    this.render();
    this.asking.focus();
  }

  get current() {
    return this.examples[this.at];
  }

  get isOver() {
    return this.at >= this.examples.length;
  }

  get answers() {
    return this.outbox.held.labels[this.current.key];
  }

  /** @param {string} key */
  example(key) {
    return /** @type {Example} */ (this.examples.find((each) => each.key === key));
  }

  /** @param {Example} example */
  verdictsOn(example) {
    return verdicts(this.sets[example.set].map(complete), this.outbox.held.labels[example.key] ?? {}, example.answers);
  }

  /** Show the author's answers, and the reasons. */
  showFeedback() {
    const verdicts = this.verdictsOn(this.current);
    const agrees = verdicts.every((verdict) => verdict.agrees);
    byId("feedback").dataset.agrees = String(agrees);
    setText(byId("feedback-title"), agrees ? gettext("The author would say the same.") : gettext("The author would say something else."));
    byId("feedback-answers").replaceChildren(...verdicts.map(line));
    setText(byId("feedback-why"), this.current.why);
    const isLast = this.at === this.examples.length - 1;
    setText(byId("next"), isLast ? gettext("Continue") : gettext("Next example"));
    this.render();
    byId("next").focus({ preventScroll: true });
    if (isDocked()) scrollTo({ top: document.documentElement.scrollHeight }); // the dock has grown over the example
    else byId("feedback").scrollIntoView({ block: "nearest" });
  }

  next() {
    this.at += 1;
    this.render();
    if (this.isOver) byId("over").focus({ preventScroll: true });
    else this.asking.focus();
  }

  restart() {
    for (const { key } of this.examples) this.outbox.dropLabel(key);
    this.at = 0;
    this.asking.attention.subjects.clear();
    this.render();
    this.asking.focus();
  }

  render() {
    const hasFeedback = !this.isOver && Boolean(this.answers);
    if (this.at !== this.shown) this.show();
    this.asking.render();
    this.dock.dataset.mode = this.isOver ? "over" : hasFeedback ? "told" : "ask";
    byId("feedback").hidden = !hasFeedback;
    byId("over").hidden = !this.isOver;
    byId("begin").hidden = !this.isOver;
    byId("intro").hidden = this.at > 0;
    const { length } = this.examples;
    setText(byId("done-text"), this.isOver ? gettext("Practice done") : gettext("Practice %(n)s of %(all)s", { n: this.at + 1, all: length }));
    byId("bar").setAttribute("max", String(length));
    byId("bar").setAttribute("value", String(this.at + (hasFeedback ? 1 : 0)));
    const isUnread = !this.isOver && !hasFeedback && !this.asking.attention.isRead(this.current.key);
    setText(byId("hint"), isUnread ? gettext("Read to the end, then answer.") : "");
  }

  show() {
    this.shown = this.at;
    byId("item").hidden = this.isOver;
    this.asking.sight.forget();
    if (this.isOver) return this.sumUp();
    const { ends, length } = showExample(byId("turns"), this.current, this.language);
    this.asking.meet(this.current.key, ends, length);
    // The introduction, which the page before had as well, must not push the reply behind the dock.
    if (isDocked() && this.asking.sight.rest(this.current.key)?.left) byId("item").scrollIntoView({ block: "start" });
  }

  sumUp() {
    const agreed = this.examples.filter((each) => this.verdictsOn(each).every((verdict) => verdict.agrees)).length;
    const { length } = this.examples;
    const of = { agreed, all: length };
    const all = length === 1 ? "" : gettext("You answered %(agreed)s of %(all)s examples as their author would.", of);
    setText(byId("summed-up"), `${all} ${gettext("Go by your own impression from now on.")}`.trim());
    fillForm(this.outbox.held.labels);
  }
}

/** @param {import("./verdict.js").Verdict} verdict */
function line({ question, own, author, agrees }) {
  const isNear = agrees && own !== author && question.kind === "scale";
  const other = isNear
    ? gettext("You said %(own)s, the author says %(author)s, close enough")
    : gettext("You said %(own)s, the author says %(author)s");
  const parts = own === author ? [make("b", {}, own)] : emphasised(other, { own, author });
  return make("li", { "data-agrees": String(agrees) }, `${question.wording} `, ...parts);
}

/** The text with its values in bold. @param {string} text @param {Record<string, string>} values */
function emphasised(text, values) {
  return text.split(/%\((\w+)\)s/).map((part, at) => (at % 2 ? make("b", {}, values[part]) : part));
}

new Practice(JSON.parse(byId("practice-settings").textContent ?? "{}"));
