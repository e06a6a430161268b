/** Follows the conversation, unless the reader has scrolled up; then offers a way down. */

const NEAR_PX = 160;

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

  /** Call after something was added at the end. @param {boolean} isReply */
  added(isReply) {
    if (this.isFollowing) this.toEnd();
    else if (isReply) this.button.hidden = false;
  }

  toEnd() {
    this.button.hidden = true;
    this.isFollowing = true;
    scrollTo({ top: document.documentElement.scrollHeight });
  }
}
