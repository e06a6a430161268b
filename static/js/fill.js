/** Copies a text file into a field, where it can be checked before it is sent. */

for (const input of document.querySelectorAll("input[type=file][data-fills]")) {
  if (!(input instanceof HTMLInputElement)) continue;
  const field = document.getElementById(input.dataset.fills ?? "");
  const message = document.getElementById(`${input.id}-told`);
  input.closest("[hidden]")?.removeAttribute("hidden");
  input.addEventListener("change", async () => {
    const [file] = input.files ?? [];
    if (!file || !(field instanceof HTMLTextAreaElement) || !message) return;
    const isLong = file.size > 4 * field.maxLength; // of UTF-8, where a character has at most four bytes
    const text = isLong ? null : decoded(await file.arrayBuffer());
    if (text !== null) field.value = text;
    const say = text !== null ? message.dataset.taken : isLong ? message.dataset.long : message.dataset.unreadable;
    message.textContent = (say ?? "").replace("{name}", file.name);
    input.value = "";
  });
}

/** The text of a file; null if it is not UTF-8. @param {ArrayBuffer} content */
function decoded(content) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return null;
  }
}
