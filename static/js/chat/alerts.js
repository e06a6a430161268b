/** Everything the page says around the conversation: refusals, faults, hints, the end. */

import { byId, make, setText } from "./dom.js";

/**
 * @typedef {import("./store.js").Fault} Fault
 */

const UNREAD = "● ";

export class Alerts {
  /** @param {{retry: () => void, giveUp: () => void, finish: () => void}} actions */
  constructor(actions) {
    this.actions = actions;
    this.finish = /** @type {HTMLButtonElement} */ (byId("finish"));
    this.dialog = /** @type {HTMLDialogElement} */ (byId("confirm"));
    /** @type {() => void} */
    this.confirmed = () => {};
    /** @type {string | null} */
    this.shownFault = null;
    this.finish.addEventListener("click", () =>
      this.ask("Finish the conversation?", "After that you can neither write on nor change an answer.", "Yes, finish", actions.finish),
    );
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
    if (document.hidden && !document.title.startsWith(UNREAD)) document.title = UNREAD + document.title;
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
   * @param {Fault | null} fault
   * @param {boolean} isOpen
   */
  showFault(fault, isOpen) {
    const card = byId("fault");
    const wanted = fault && JSON.stringify(fault);
    card.hidden = !fault;
    card.dataset.attempts = String(fault?.attempts ?? 0);
    if (wanted !== this.shownFault) card.replaceChildren(...(fault ? this.faultParts(fault) : []));
    this.shownFault = wanted;
    for (const button of card.querySelectorAll("button")) button.disabled = !isOpen;
  }

  /** @param {Fault} fault */
  faultParts(fault) {
    const again = make("button", { type: "button", class: "button--main" }, "Try again");
    again.addEventListener("click", this.actions.retry);
    const row = make("div", { class: "row" }, again);
    if (fault.may_give_up) row.append(this.giveUpButton());
    return [make("p", {}, fault.say), row];
  }

  giveUpButton() {
    const button = make("button", { type: "button" }, "End here (you will be paid in full)");
    button.addEventListener("click", () =>
      this.ask("End the conversation here?", "You will be paid in full. You cannot come back to it.", "Yes, end here", this.actions.giveUp),
    );
    return button;
  }

  /** @param {boolean} isThinking */
  showThinking(isThinking) {
    byId("thinking").hidden = !isThinking;
  }

  /**
   * @param {string} text
   * @param {boolean} isSoft
   */
  showHint(text, isSoft) {
    const hint = byId("hint");
    setText(hint, text);
    hint.classList.toggle("is-soft", isSoft);
  }

  /** @param {boolean} mayFinish */
  showFinish(mayFinish) {
    this.finish.disabled = !mayFinish;
    this.finish.classList.toggle("button--main", mayFinish);
  }

  /** @param {string} url */
  leaving(url) {
    const link = make("a", { href: url }, "Go to your completion code");
    byId("chat").replaceChildren(make("p", { class: "note", role: "status" }, "Finished; everything is saved. ", link));
  }
}
