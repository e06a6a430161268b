/**
 * The picture of the next message: chosen or pasted, uploaded at once, shown small beside the message box.
 *
 * It stays among the drafts until the server has saved its message, so that a reload or a refusal loses nothing.
 *
 * @typedef {{key: string, address: string, width: number, height: number}} Uploaded  key: the hash by which a message names it
 * @typedef {import("../kit/outbox.js").Outbox} Outbox
 */

import { byId, make, setText } from "../kit/dom.js";
import { gettext } from "../kit/gettext.js";

/** Names of the drafts. */
const DRAFT = "picture";
const DESCRIPTION = "picture-description";

export class PictureDraft {
  /**
   * @param {Outbox} outbox
   * @param {{upload: string, maxBytes: number, onChange: () => void}} options
   */
  constructor(outbox, options) {
    this.outbox = outbox;
    this.options = options;
    /** @type {AbortController | null} */
    this.uploading = null;
    this.input = /** @type {HTMLInputElement} */ (byId("picture-file"));
    this.status = byId("picture-status");
    this.preview = byId("picture-preview");
    this.remove = byId("picture-remove");
    this.description = /** @type {HTMLInputElement} */ (byId("picture-description"));
    this.description.value = this.outbox.draftOf(DESCRIPTION);
    this.description.addEventListener("input", () => this.outbox.keepDraft(this.description.value, DESCRIPTION));
    this.input.addEventListener("change", () => this.take(this.input.files?.[0]));
    this.remove.addEventListener("click", () => this.drop());
    byId("message").addEventListener("paste", (event) => this.onPaste(event));
  }

  /** The uploaded picture that no message has sent; null if there is none. @returns {Uploaded | null} */
  get uploaded() {
    const draft = this.outbox.draftOf(DRAFT);
    return draft ? JSON.parse(draft) : null;
  }

  /** The picture for the next message: none while its message is being sent. @returns {Uploaded | null} */
  get next() {
    const { uploaded } = this;
    return uploaded && this.outbox.held.turn?.picture === uploaded.key ? null : uploaded;
  }

  /** Fields of the next message about its picture; undefined without one. */
  get nextFields() {
    const { next } = this;
    const description = this.outbox.draftOf(DESCRIPTION).trim();
    return next ? { picture: next.key, ...(description && { description }) } : undefined;
  }

  /** The picture of the message that is being sent. @returns {import("../kit/pictures.js").Picture | null} */
  get sent() {
    const { uploaded } = this;
    return uploaded && { ...uploaded, description: this.outbox.held.turn?.description };
  }

  get isUploading() {
    return this.uploading !== null;
  }

  /** @param {ClipboardEvent} event */
  onPaste(event) {
    const data = event.clipboardData;
    const file = [...(data?.files ?? [])].find(({ type }) => type.startsWith("image/"));
    if (!file || data?.getData("text")) return; // office programs add a picture of a text
    event.preventDefault();
    this.take(file);
  }

  /** @param {File | undefined} file */
  async take(file) {
    this.input.value = "";
    if (!file) return;
    if (file.size > this.options.maxBytes) {
      this.say(gettext("This file is too large. Choose a smaller picture."), true);
      return this.options.onChange();
    }
    this.uploading?.abort();
    const uploading = (this.uploading = new AbortController());
    this.say(gettext("Uploading the picture …"));
    this.options.onChange();
    const { key = "", problem = "", ...shown } = await this.send(file, uploading.signal);
    if (this.uploading !== uploading) return; // removed or replaced meanwhile
    this.uploading = null;
    if (key) this.outbox.keepDraft(JSON.stringify({ key, ...shown }), DRAFT);
    this.say(problem, true);
    this.options.onChange();
    if (key) byId("message").focus();
  }

  /**
   * @param {File} file
   * @param {AbortSignal} signal
   * @returns {Promise<Partial<Uploaded> & {problem?: string}>}
   */
  async send(file, signal) {
    const body = new FormData();
    body.append("picture", file);
    const token = /** @type {HTMLInputElement} */ (document.querySelector("[name=csrfmiddlewaretoken]")).value;
    try {
      const response = await fetch(this.options.upload, { method: "POST", body, signal, headers: { "X-CSRFToken": token } });
      const answer = await response.json();
      return response.ok ? answer : { problem: answer.say };
    } catch {
      return { problem: gettext("The picture could not be uploaded. Check your connection, then choose it once more.") };
    }
  }

  /** Take back the picture, or its upload. */
  drop() {
    this.uploading?.abort();
    this.uploading = null;
    this.forget();
    this.say("");
    this.options.onChange();
    this.input.focus();
  }

  forget() {
    this.outbox.keepDraft("", DRAFT);
    this.outbox.keepDraft("", DESCRIPTION);
    this.description.value = "";
  }

  /** Ask for the words without which a picture is not sent. */
  askForWords() {
    this.say(gettext("Write a few words with your picture, then send both."), true);
    this.options.onChange();
    byId("message").focus();
  }

  /**
   * @param {string} text
   * @param {boolean} [isBad]
   */
  say(text, isBad = false) {
    setText(this.status, text);
    this.status.classList.toggle("mark--bad", isBad);
    this.status.hidden = !text;
  }

  /**
   * Let go of the picture whose message the server has saved, or which the server does not have.
   *
   * @param {import("../kit/outbox.js").Held["turn"]} sent  the message that was being sent before the frame
   * @param {import("../kit/outbox.js").Frame} frame
   */
  settle(sent, frame) {
    const isGone = frame.type !== "refused" || frame.reason === "unknown_picture";
    if (!sent?.picture || this.outbox.held.turn || !isGone) return;
    if (this.uploaded?.key === sent.picture) this.forget();
    this.say("");
  }

  render() {
    const { next } = this;
    const shown = this.preview.querySelector("img");
    if (next && shown?.getAttribute("src") !== next.address) {
      const size = { width: String(next.width), height: String(next.height) };
      this.preview.replaceChildren(make("img", { src: next.address, alt: gettext("Picture for your next message"), ...size }));
    }
    if (!next) this.preview.replaceChildren();
    this.preview.hidden = !next;
    byId("picture-about").hidden = !next;
    this.remove.hidden = !next && !this.isUploading;
    byId("picture").hidden = this.remove.hidden && this.status.hidden;
  }
}
