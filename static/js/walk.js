/**
 * Goes to the next or previous page of a walk by key: j or → to the link with rel="next", k or ← to rel="prev".
 */

const KEYS = new Map([["j", "next"], ["ArrowRight", "next"], ["k", "prev"], ["ArrowLeft", "prev"]]);

addEventListener("keydown", (event) => {
  const target = /** @type {Element} */ (event.target);
  const is_typing = target.closest("input, textarea, select, [contenteditable]");
  if (is_typing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const rel = KEYS.get(event.key);
  const link = rel && document.querySelector(`a[rel="${rel}"]`);
  if (!link) return;
  event.preventDefault();
  /** @type {HTMLElement} */ (link).click();
});
