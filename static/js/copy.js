/** Shows the copy buttons, and copies the field that each one names. */

/** @param {HTMLInputElement} field */
async function copyField(field) {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    return document.execCommand("copy"); // no clipboard API without https
  }
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  const field = /** @type {HTMLInputElement} */ (document.getElementById(button.getAttribute("data-copy") ?? ""));
  button.removeAttribute("hidden");
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    button.textContent = (await copyField(field)) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => (button.textContent = "Copy"), 4000);
  });
}
