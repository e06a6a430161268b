/** What the page says around the conversation: refusals, faults, hints, new replies. */

import { byId, make, setText } from "../kit/dom.js";

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

  /** A new reply, for screen readers and for a tab in the background. @param {string} text */
  announce(text) {
    byId("announcer").replaceChildren(make("p", {}, text));
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
   * The card stays while the chatbot is asked again, so that the focus does.
   *
   * @param {Fault | null} fault
   * @param {{isOpen: boolean, isRetrying: boolean}} now
   */
  showFault(fault, { isOpen, isRetrying }) {
    const card = byId("fault");
    const wanted = fault && JSON.stringify(fault);
    card.hidden = !fault;
    card.dataset.attempts = String(fault?.attempts ?? 0);
    if (wanted !== this.shownFault) this.renewFault(fault);
    this.shownFault = wanted;
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
    const row = make("div", { class: "row" }, this.action("Try again", "button--main", this.actions.retry));
    if (fault.may_give_up) {
      const end = () =>
        this.ask("End the conversation here?", "You will be paid in full. You cannot come back to it.", "Yes, end here", this.actions.giveUp);
      row.append(this.action("End here (you will be paid in full)", "", end));
    }
    return [make("p", {}, fault.say), row];
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
   * @param {boolean} isStarting  the chatbot is not yet there, as after a restart
   */
  showThinking(isThinking, isStarting) {
    const line = byId("thinking");
    line.hidden = !isThinking;
    setText(byId("thinking-text"), (isStarting ? line.dataset.starting : line.dataset.writing) ?? "");
  }

  /** @param {string} url */
  leaving(url) {
    const link = make("a", { href: url }, "Go to your completion code");
    byId("chat").replaceChildren(make("p", { class: "note", role: "status" }, "Finished; everything is saved. ", link));
  }
}
