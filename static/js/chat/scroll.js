/** Follows the conversation, unless the reader has scrolled up; then offers a way down. */

import { isInView } from "../kit/sight.js";

const NEAR_PX = 160;
const TOP_PX = 80; // the sticky bar at the top, and a margin

export class Follower {
  /** @param {HTMLElement} button  shown when a reply waits below */
  constructor(button) {
    this.button = button;
    this.isFollowing = true;
    addEventListener("scroll", () => this.look(), { passive: true });
    button.addEventListener("click", () => this.toEnd());
  }

  look() {
    const page = document.documentElement;
    this.isFollowing = page.scrollHeight - page.clientHeight - page.scrollTop < NEAR_PX;
    if (this.isFollowing) this.button.hidden = true;
  }

  /** Call after an element was added at the end. @param {HTMLElement | null} reply  if it was one */
  added(reply) {
    if (this.isFollowing) this.toStart(reply);
    else if (reply) this.button.hidden = false;
  }

  /** Call after a reply has grown: to its end, until its beginning is at the top. @param {HTMLElement} reply */
  grown(reply) {
    if (this.isFollowing && reply.getBoundingClientRect().top > TOP_PX) this.toStart(reply);
  }

  /** Call when a growing reply is complete; the position of a reader who scrolled up stays. @param {HTMLElement | null} reply */
  completed(reply) {
    if (this.isFollowing) this.toStart(reply);
    else if (reply) this.button.hidden = isInView(reply);
  }

  /** Scroll to the end of the page, unless that would hide the beginning of this reply. @param {HTMLElement | null} reply */
  toStart(reply) {
    this.toEnd();
    const begin = reply?.getBoundingClientRect().top ?? TOP_PX;
    if (begin < TOP_PX) scrollBy({ top: begin - TOP_PX });
  }

  toEnd() {
    this.button.hidden = true;
    this.isFollowing = true;
    scrollTo({ top: document.documentElement.scrollHeight });
  }
}
