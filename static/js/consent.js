/** Inserts a consent template into the form; Undo restores the earlier texts. */

/** @typedef {{consent: string, debriefing: string}} Texts */

const choice = document.getElementById("consent-template");
const consent = document.getElementById("id_consent_text");
const debriefing = document.getElementById("id_debriefing");
const message = document.getElementById("consent-told");
const undo = document.getElementById("consent-undo");
/** @type {Record<string, Texts>} */
const templates = JSON.parse(document.getElementById("consent-templates")?.textContent ?? "{}");

if (choice instanceof HTMLSelectElement && consent instanceof HTMLTextAreaElement && debriefing instanceof HTMLTextAreaElement && undo && message) {
  let before = currentTexts(consent, debriefing);
  choice.closest("[hidden]")?.removeAttribute("hidden");
  choice.value = templateOf(consent.value);
  choice.addEventListener("change", () => {
    const texts = templates[choice.value];
    if (!texts) return;
    before = currentTexts(consent, debriefing);
    consent.value = texts.consent;
    // A debriefing that the researcher wrote is never replaced.
    const isOurs = Object.values(templates).some((each) => each.debriefing && each.debriefing === debriefing.value);
    if (!debriefing.value.trim() || isOurs) debriefing.value = texts.debriefing;
    if (debriefing.value) debriefing.closest("details")?.setAttribute("open", ""); // show the inserted text
    message.textContent = message.dataset.taken ?? "";
    undo.hidden = false;
  });
  undo.addEventListener("click", () => {
    [consent.value, debriefing.value] = [before.consent, before.debriefing];
    choice.value = templateOf(consent.value);
    message.textContent = "";
    undo.hidden = true;
    choice.focus();
  });
}

/** @param {HTMLTextAreaElement} consent @param {HTMLTextAreaElement} debriefing @returns {Texts} */
function currentTexts(consent, debriefing) {
  return { consent: consent.value, debriefing: debriefing.value };
}

/** Key of the template that equals the text; "" for another text. @param {string} text */
function templateOf(text) {
  const same = Object.entries(templates).find(([, each]) => each.consent === text.replaceAll("\r\n", "\n"));
  return same ? same[0] : "";
}
