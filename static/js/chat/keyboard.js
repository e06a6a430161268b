/** Single keys for answers, and Esc between the message and the open question. */

const SWITCH = "turnwise:single-keys";

/** @param {EventTarget | null} target */
function takesText(target) {
  return target instanceof Element && target.matches("textarea, select, input:not([type=checkbox]), [contenteditable]");
}

/**
 * The button in this group with the key on it.
 *
 * @param {Element | null} group
 * @param {string} key
 * @returns {HTMLButtonElement | null}
 */
function buttonFor(group, key) {
  const buttons = group?.querySelectorAll("button[aria-keyshortcuts]") ?? [];
  const match = [...buttons].find((button) => button.getAttribute("aria-keyshortcuts") === key.toUpperCase());
  return /** @type {HTMLButtonElement | null} */ (match ?? null);
}

/** Neither scrolled away nor behind the message box. @param {Element} element */
function isInSight(element) {
  const { left, top, height } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(left + 1, top + height / 2));
}

/**
 * @param {{openGroup: () => HTMLElement | null, focusMessage: () => void,
 *          storage: Pick<Storage, "getItem" | "setItem">, toggle: HTMLInputElement}} page
 */
export function listenToKeys({ openGroup, focusMessage, storage, toggle }) {
  // WCAG 2.1.4: single keys can be turned off, for people who dictate.
  toggle.checked = storage.getItem(SWITCH) !== "off";
  toggle.addEventListener("change", () => storage.setItem(SWITCH, toggle.checked ? "on" : "off"));

  /** @param {KeyboardEvent} event */
  function escape(event) {
    const group = openGroup();
    if (takesText(event.target) && group) group.focus();
    else focusMessage();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return escape(event);
    if (event.key.length !== 1 || !toggle.checked || takesText(event.target)) return;
    const own = event.target instanceof Element ? event.target.closest("fieldset.question") : null;
    const group = /** @type {HTMLElement | null} */ (own ?? openGroup());
    const button = buttonFor(group, event.key);
    if (!group || !button) return;
    event.preventDefault();
    if (isInSight(group)) button.click();
    else group.focus(); // nobody answers a question that they do not see
  });
}
