/** Detects when the ends of all texts of a subject have been in view, between the top bar and the dock. */

/** An end above the window counts as seen: a quick scroll may have jumped over it. */
const ABOVE_PX = 1_000_000;
const BAR_PX = 56;
const AIR_PX = 24;

export class EndInSight {
  /**
   * @param {HTMLElement} dock  covers the bottom of the page
   * @param {(subject: string) => void} onSeen
   */
  constructor(dock, onSeen) {
    this.dock = dock;
    this.onSeen = onSeen;
    /** @type {Map<Element, string>} */
    this.ends = new Map();
    this.covered = -1;
    new ResizeObserver(() => this.watch()).observe(dock);
    addEventListener("resize", () => this.watch());
    this.watch();
  }

  /** Watch the ends of all texts of this subject. @param {HTMLElement[]} texts @param {string} subject */
  add(texts, subject) {
    for (const text of texts) {
      const end = document.createElement("span");
      end.className = "text-end";
      text.append(end);
      this.ends.set(end, subject);
      this.observer?.observe(end);
    }
  }

  /** Scroll towards the first unseen end of this subject's texts, by one window at most. @param {string} subject */
  readOn(subject) {
    const end = [...this.ends.keys()].find((each) => this.ends.get(each) === subject && each.isConnected);
    if (!end) return;
    const bottom = isDocked() ? this.dock.getBoundingClientRect().top : innerHeight;
    const unseen = end.getBoundingClientRect().bottom + AIR_PX - bottom;
    scrollBy({ top: Math.min(unseen, bottom - BAR_PX - AIR_PX) });
  }

  /**
   * Height of this subject's texts below the window, and in total; null if all ends have been in view.
   *
   * @param {string} subject
   * @returns {{left: number, all: number} | null}  in pixels
   */
  rest(subject) {
    const ends = [...this.ends.keys()].filter((each) => this.ends.get(each) === subject && each.isConnected);
    if (!ends.length) return null;
    const tops = ends.map((each) => each.parentElement?.getBoundingClientRect().top ?? 0);
    const bottoms = ends.map((each) => each.getBoundingClientRect().bottom);
    const [top, bottom] = [Math.min(...tops), Math.max(...bottoms)];
    const left = bottom - (isDocked() ? this.dock.getBoundingClientRect().top : innerHeight);
    return { left: Math.max(0, left), all: Math.max(1, bottom - top) };
  }

  /** Scroll to the end of the texts of this subject. @param {string} subject */
  toEnd(subject) {
    for (let tries = 0; tries < 3; tries++) {
      const { left } = this.rest(subject) ?? { left: 0 };
      if (left) scrollBy({ top: left + AIR_PX });
      dispatchEvent(new Event("scroll")); // the dock unfolds at the end, and covers a part of it
    }
  }

  forget() {
    this.ends.clear();
    this.observer?.disconnect();
  }

  /** Renew the observer when the size of the dock changes: margins of an observer are fixed. */
  watch() {
    const covered = isDocked() ? Math.round(this.dock.getBoundingClientRect().height) : 0;
    if (covered === this.covered && this.observer) return;
    this.covered = covered;
    this.observer?.disconnect();
    this.observer = new IntersectionObserver((entries) => entries.forEach((entry) => this.onIntersection(entry)), {
      rootMargin: `${ABOVE_PX}px 0px -${covered}px 0px`,
    });
    for (const end of this.ends.keys()) this.observer.observe(end);
  }

  /** @param {IntersectionObserverEntry} entry */
  onIntersection({ isIntersecting, target }) {
    const subject = this.ends.get(target);
    if (!isIntersecting || subject === undefined) return;
    this.ends.delete(target);
    this.observer?.unobserve(target);
    const isWaiting = [...this.ends].some(([end, each]) => each === subject && end.isConnected);
    if (!isWaiting) this.onSeen(subject);
  }
}

/** True if the dock is sticky; in a low window it scrolls with the page. */
export function isDocked() {
  const dock = document.getElementById("dock");
  return dock !== null && getComputedStyle(dock).position === "sticky";
}

/** True if a part of the element is visible between the bar and the dock. @param {Element | null} element */
export function isInView(element) {
  if (!element) return true;
  const { top, bottom } = element.getBoundingClientRect();
  const dock = isDocked() ? document.getElementById("dock") : null;
  return bottom > BAR_PX && top < (dock?.getBoundingClientRect().top ?? innerHeight);
}
