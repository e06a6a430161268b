/** The lobby: the time waited, and the arrival of the partner. */

import { Connection } from "../kit/connection.js";
import { byId, setText } from "../kit/dom.js";
import { gettext, ngettext } from "../kit/gettext.js";
import { Sound } from "./sound.js";

/** @typedef {import("../kit/outbox.js").Frame} Frame */

const UNREAD = "● ";
const LET_IT_SOUND_MS = 900;

class Lobby {
  /** @param {{socket: string}} settings */
  constructor(settings) {
    this.page = byId("lobby");
    this.sound = new Sound();
    this.isOver = false;
    /** @type {{seconds: number, at: number} | null} */
    this.waited = null;
    byId("unready").remove();
    this.page.hidden = false;
    const button = byId("sound");
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", "true");
      void this.sound.play();
    });
    setInterval(() => this.showTime(), 1000);
    this.connection = new Connection(settings.socket, {
      onFrame: (frame) => this.onFrame(frame),
      onState: () => this.showState(),
    });
  }

  /** @param {Frame} frame */
  onFrame(frame) {
    if (frame.type === "are_you_there") {
      const meeting = frame.meeting ? { meeting: frame.meeting } : {};
      if (frame.meeting) setText(byId("lobby-state"), gettext("Somebody is here. Checking that both of you are connected …"));
      return void this.connection.send({ type: "here", ...meeting });
    }
    if (frame.type === "state") {
      this.waited = { seconds: frame.waited, at: performance.now() };
      this.showState();
      this.showTime();
    }
    if (frame.type === "refused") this.showRefusal(frame.say);
    if (frame.type === "met" || frame.type === "over") this.end(frame.type === "met", frame.url);
  }

  /** @param {string} say */
  showRefusal(say) {
    const notice = byId("notice");
    notice.hidden = false;
    setText(notice, say);
    setText(byId("lobby-title"), gettext("You are not waiting on this page"));
    document.title = gettext("You are not waiting on this page");
    this.page.classList.add("is-refused");
    this.waited = null;
  }

  /**
   * End the wait: a partner is found, or the time is over.
   *
   * @param {boolean} isMet
   * @param {string} url
   */
  end(isMet, url) {
    if (this.isOver) return;
    this.isOver = true;
    this.connection.leave("ended");
    const says = isMet ? gettext("Your partner is here") : gettext("The wait is over");
    this.page.classList.add("is-met");
    setText(byId("lobby-title"), says);
    setText(byId("lobby-state"), "");
    setText(byId("lobby-told"), says);
    document.title = UNREAD + says;
    void this.sound.play();
    setTimeout(() => location.replace(url), LET_IT_SOUND_MS);
  }

  showState() {
    if (this.isOver || !this.connection) return;
    const { state } = this.connection;
    if (state === "waiting") this.waited = null;
    setText(byId("lobby-state"), inWords(state));
  }

  /** Show the time waited: the server's figure and the time since. */
  showTime() {
    if (!this.waited || this.isOver) return;
    const bar = /** @type {HTMLProgressElement} */ (byId("bar"));
    const seconds = Math.min(this.waited.seconds + (performance.now() - this.waited.at) / 1000, bar.max * 60);
    const minutes = Math.floor(seconds / 60);
    setText(byId("waited"), `${minutes}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`);
    bar.value = seconds / 60;
    if (minutes) setText(byId("lobby-told"), ngettext("You have waited %(n)s minute.", "You have waited %(n)s minutes.", minutes));
  }
}

/** @param {import("../kit/connection.js").ConnectionState} state */
function inWords(state) {
  if (state === "open") return gettext("Nobody else is free yet.");
  if (state !== "waiting") return "";
  return gettext("The connection is lost. Trying again; time spent disconnected does not count as waiting.");
}

new Lobby(JSON.parse(byId("lobby-settings").textContent ?? "{}"));
