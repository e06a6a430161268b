/** One of the consent texts that come with Turnwise into the form; what stood there can be had back. */

/** @typedef {{consent: string, debriefing: string}} Texts */

const choice = document.getElementById("consent-template");
const consent = document.getElementById("id_consent_text");
const debriefing = document.getElementById("id_debriefing");
const told = document.getElementById("consent-told");
const undo = document.getElementById("consent-undo");
/** @type {Record<string, Texts>} */
const templates = JSON.parse(document.getElementById("consent-templates")?.textContent ?? "{}");

if (choice instanceof HTMLSelectElement && consent instanceof HTMLTextAreaElement && debriefing instanceof HTMLTextAreaElement && undo && told) {
  let before = standing(consent, debriefing);
  choice.closest("[hidden]")?.removeAttribute("hidden");
  choice.value = chosenOf(consent.value);
  choice.addEventListener("change", () => {
    const texts = templates[choice.value];
    if (!texts) return;
    before = standing(consent, debriefing);
    consent.value = texts.consent;
    // What somebody wrote to be told at the end is never replaced.
    const isOurs = Object.values(templates).some((each) => each.debriefing && each.debriefing === debriefing.value);
    if (!debriefing.value.trim() || isOurs) debriefing.value = texts.debriefing;
    if (debriefing.value) debriefing.closest("details")?.setAttribute("open", ""); // what has come is seen
    told.textContent = told.dataset.taken ?? "";
    undo.hidden = false;
  });
  undo.addEventListener("click", () => {
    [consent.value, debriefing.value] = [before.consent, before.debriefing];
    choice.value = chosenOf(consent.value);
    told.textContent = "";
    undo.hidden = true;
    choice.focus();
  });
}

/** @param {HTMLTextAreaElement} consent @param {HTMLTextAreaElement} debriefing @returns {Texts} */
function standing(consent, debriefing) {
  return { consent: consent.value, debriefing: debriefing.value };
}

/** The key of the template that a text is, or that of a text of one's own. @param {string} text */
function chosenOf(text) {
  const same = Object.entries(templates).find(([, each]) => each.consent === text.replaceAll("\r\n", "\n"));
  return same ? same[0] : "";
}
