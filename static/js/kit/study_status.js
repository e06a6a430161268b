/**
 * Lines at the top of a worker's page about the study: a pause, a message of the team, the remaining time.
 *
 * The ticking clocks are hidden from screen readers, which announce the warnings.
 *
 * @typedef {import("./outbox.js").Frame} Frame
 * @typedef {"message" | "session"} Of
 * @typedef {{of: Of, left: number, warn: number, more: number}} ClockFrame  left and warn in seconds; more: extensions left
 * @typedef {ClockFrame & {ends: number, isWarned: boolean}} Clock  ends: by performance.now()
 */

import { make, setText } from "./dom.js";
import { gettext, ngettext } from "./gettext.js";

const SECOND_MS = 1000;

export class StudyStatus {
  /** @param {(of: Of) => void} onMore */
  constructor(onMore) {
    this.onMore = onMore;
    this.isHeld = false;
    /** @type {Clock[]} */
    this.clocks = [];
    this.pause = make("p", { class: "standing__line standing__line--ask", role: "status" });
    this.notice = make("p", { class: "standing__line", role: "status", dir: "auto" });
    this.warning = make("p", { class: "visually-hidden", role: "alert" });
    this.time = make("div", { class: "standing__line standing__time", tabindex: "-1" });
    const bar = document.querySelector(".topbar");
    const lines = make("div", { class: "standing" }, this.pause, this.notice, this.time, this.warning);
    if (bar) bar.append(lines);
    else document.querySelector("main")?.prepend(lines);
    setInterval(() => this.tick(), SECOND_MS);
  }

  /** @param {Frame} frame */
  show({ paused, held, notice, clocks }) {
    this.isHeld = held;
    const onHold = gettext("The study is paused. Your work is safe, and nothing is sent until it resumes; your time limit is paused too.");
    const goingOn = gettext("The study is closed to new people for now. You can finish your work.");
    setText(this.pause, held ? onHold : paused ? goingOn : "");
    setText(this.notice, notice ? gettext("Message from the research team: %(text)s", { text: notice }) : "");
    const before = this.clocks;
    this.clocks = (held ? [] : clocks).map((/** @type {ClockFrame} */ clock) => {
      const ends = performance.now() + clock.left * SECOND_MS;
      const earlier = before.find(({ of }) => of === clock.of);
      if (earlier?.isWarned && clock.left > clock.warn) setText(this.warning, gettext("You have more time."));
      return { ...clock, ends, isWarned: Boolean(earlier?.isWarned) && clock.left <= clock.warn };
    });
    this.renew();
  }

  /** Rebuild the clocks, only if one was added, removed or has warned: a press must not hit a button being replaced. */
  renew() {
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.of : undefined;
    this.time.replaceChildren(...this.clocks.map((clock) => this.line(clock)));
    this.time.classList.toggle("standing__line--ask", this.clocks.some(({ isWarned }) => isWarned));
    const same = this.time.querySelector(`[data-of="${focused}"]`) ?? this.time.querySelector("button") ?? this.time;
    if (focused) /** @type {HTMLElement} */ (same).focus();
    this.tick();
  }

  /** @param {Clock} clock */
  line(clock) {
    const line = make("span", { class: "standing__clock" }, make("span", { id: `clock-${clock.of}`, "data-clock": clock.of, "aria-hidden": "true" }));
    if (!clock.isWarned || !clock.more) return line;
    const more = make("button", { type: "button", class: "small", "data-of": clock.of, "aria-describedby": `clock-${clock.of}` }, gettext("I need more time"));
    more.addEventListener("click", () => this.onMore(clock.of));
    line.append(" ", more);
    return line;
  }

  tick() {
    for (const clock of this.clocks) {
      const face = this.time.querySelector(`[data-clock="${clock.of}"]`);
      if (face) setText(face, leftInWords(clock.of, secondsTo(clock)));
    }
    const due = this.clocks.filter((clock) => !clock.isWarned && secondsTo(clock) <= clock.warn);
    if (!due.length) return;
    for (const clock of due) clock.isWarned = true;
    setText(this.warning, due.map((clock) => warningOf(clock, secondsTo(clock))).join(" "));
    this.renew();
  }
}

/** @param {Clock} clock */
function secondsTo({ ends }) {
  return Math.max(0, Math.round((ends - performance.now()) / SECOND_MS));
}

/** @param {Of} of @param {number} seconds */
function leftInWords(of, seconds) {
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return of === "message" ? gettext("%(time)s left for this step", { time }) : gettext("%(time)s left in total", { time });
}

/** @param {Clock} clock @param {number} left */
function warningOf({ of, more }, left) {
  const says =
    of === "message"
      ? ngettext("%(n)s second is left for this step.", "%(n)s seconds are left for this step.", left)
      : ngettext("%(n)s second is left for all of your work.", "%(n)s seconds are left for all of your work.", left);
  const then = more ? gettext("If you need longer, press “I need more time”.") : gettext("What you answer or send before then is saved.");
  return `${says} ${then}`;
}
