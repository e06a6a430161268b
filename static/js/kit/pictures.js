/**
 * A picture that was sent with a message.
 *
 * @typedef {{address: string, width: number, height: number, description?: string}} Picture  address: "" once the picture is erased
 */

import { make } from "./dom.js";
import { gettext } from "./gettext.js";

/** @param {Picture} picture @returns {HTMLElement} a link to the picture in its full size */
export function pictureElement({ address, width, height, description }) {
  if (!address) return make("p", { class: "mark turn__picture" }, gettext("The picture of this message was erased."));
  const size = { width: String(width), height: String(height) };
  const alt = description || gettext("Picture without description");
  return make("a", { class: "turn__picture", href: address, target: "_blank", rel: "noopener", "aria-label": alt }, make("img", { src: address, alt, ...size }));
}
