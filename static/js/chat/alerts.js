/** Messages around the conversation: refusals, faults, new replies. */

import { byId, make, setText } from "../kit/dom.js";
import { finished } from "../kit/finish.js";
import { gettext } from "../kit/gettext.js";

/**
 * @typedef {import("./store.js").Fault} Fault
 */

const UNREAD = "● ";

export class Alerts {
  /** @param {{retry: () => void, giveUp: () => void}} actions */
  constructor(actions) {
    this.actions = actions;
    this.dialog = /** @type {HTMLDialogElement} */ (byId("confirm"));
    /** @type {() => void} */
    this.confirmed = () => {};
    /** @type {string | null} */
    this.shownFault = null;
    this.dialog.addEventListener("close", () => this.dialog.returnValue === "yes" && this.confirmed());
    document.addEventListener("visibilitychange", () => !document.hidden && this.markRead());
  }

  /**
   * @param {string} title
   * @param {string} text
   * @param {string} yes
   * @param {() => void} confirmed
   */
  ask(title, text, yes, confirmed) {
    setText(byId("confirm-title"), title);
    setText(byId("confirm-text"), text);
    setText(byId("confirm-yes"), yes);
    this.confirmed = confirmed;
    this.dialog.returnValue = "";
    this.dialog.showModal();
  }

  /** Ask whether to end a conversation that cannot go on, for full pay. @param {() => void} end */
  askToEnd(end) {
    const say = gettext("You will be paid in full. You cannot come back to it.");
    this.ask(gettext("End the conversation here?"), say, gettext("Yes, end here"), end);
  }

  /** Mark a new reply in the title of a background tab; screen readers announce it from the list of turns. */
  announce() {
    if (document.hidden) this.markUnread();
  }

  markUnread() {
    if (!document.title.startsWith(UNREAD)) document.title = UNREAD + document.title;
  }

  markRead() {
    if (document.title.startsWith(UNREAD)) document.title = document.title.slice(UNREAD.length);
  }

  /** @param {string | null} say */
  showRefusal(say) {
    const notice = byId("notice");
    notice.hidden = !say;
    setText(notice, say ?? "");
  }

  /**
   * The card stays during a retry, so that it keeps the focus.
   *
   * @param {Fault | null} fault
   * @param {{isOpen: boolean, isRetrying: boolean}} now
   */
  showFault(fault, { isOpen, isRetrying }) {
    const card = byId("fault");
    const key = fault && JSON.stringify(fault);
    card.hidden = !fault;
    card.dataset.attempts = String(fault?.attempts ?? 0);
    if (key !== this.shownFault) this.renewFault(fault);
    this.shownFault = key;
    card.setAttribute("aria-busy", String(isRetrying));
    for (const button of card.querySelectorAll("button")) button.setAttribute("aria-disabled", String(!isOpen || isRetrying));
  }

  /** @param {Fault | null} fault */
  renewFault(fault) {
    const card = byId("fault");
    const hadFocus = card.contains(document.activeElement);
    card.replaceChildren(...(fault ? this.faultParts(fault) : []));
    if (hadFocus) card.querySelector("button")?.focus();
  }

  /** @param {Fault} fault */
  faultParts(fault) {
    const row = make("div", { class: "row" }, this.action(gettext("Try again"), "button--main", this.actions.retry));
    if (fault.may_give_up) {
      row.append(this.action(gettext("End here (you will be paid in full)"), "", () => this.askToEnd(this.actions.giveUp)));
    }
    return [make("p", { "data-asking": gettext("Asking it again …") }, fault.say), row];
  }

  /**
   * @param {string} text
   * @param {string} kind
   * @param {() => void} act
   */
  action(text, kind, act) {
    const button = make("button", { type: "button", class: kind }, text);
    button.addEventListener("click", () => button.getAttribute("aria-disabled") !== "true" && act());
    return button;
  }

  /**
   * @param {boolean} isThinking
   * @param {boolean} isStarting  the chatbot is loading, for example after a restart
   */
  showThinking(isThinking, isStarting) {
    const line = byId("thinking");
    line.hidden = !isThinking;
    const of = { name: line.dataset.name ?? "" };
    const starting = gettext("%(name)s is restarting. Your message is saved; the reply will follow.", of);
    setText(byId("thinking-text"), isStarting ? starting : gettext("%(name)s is writing …", of));
  }

  /** @param {string} url */
  leaving(url) {
    byId("chat").replaceChildren(finished(url));
  }
}
