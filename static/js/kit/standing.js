/**
 * The lines at the top of a worker's page that are not about its work: a pause, a message of the team, the time left.
 *
 * What changes every second is for the eyes only; screen readers hear the warnings.
 *
 * @typedef {import("./outbox.js").Frame} Frame
 * @typedef {"message" | "session"} Of
 * @typedef {{of: Of, left: number, warn: number, more: number}} Told  left and warn in seconds; more: extensions left
 * @typedef {Told & {ends: number, isWarned: boolean}} Clock  ends: by performance.now()
 */

import { make, setText } from "./dom.js";
import { gettext, ngettext } from "./gettext.js";

const SECOND_MS = 1000;

export class Standing {
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
    this.clocks = (held ? [] : clocks).map((/** @type {Told} */ told) => {
      const ends = performance.now() + told.left * SECOND_MS;
      const known = before.find(({ of }) => of === told.of);
      if (known?.isWarned && told.left > told.warn) setText(this.warning, gettext("You have more time."));
      return { ...told, ends, isWarned: Boolean(known?.isWarned) && told.left <= told.warn };
    });
    this.renew();
  }

  /** The buttons, anew only when clocks come, go or warn: a press must not fall into a gap. */
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
      const shown = this.time.querySelector(`[data-clock="${clock.of}"]`);
      if (shown) setText(shown, leftInWords(clock.of, secondsTo(clock)));
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
