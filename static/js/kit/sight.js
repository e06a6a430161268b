/** Tells when the ends of a subject's texts have all been in view: between the bar at the top and the dock at the bottom. */

/** An end that a quick scroll has jumped over has been reached, too. */
const ABOVE_PX = 1_000_000;
const BAR_PX = 56;
const AIR_PX = 24;

export class EndInSight {
  /**
   * @param {HTMLElement} dock  what stands over the page at its bottom
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

  /** Look out for the ends of all texts of this subject. @param {HTMLElement[]} texts @param {string} subject */
  add(texts, subject) {
    for (const text of texts) {
      const end = document.createElement("span");
      end.className = "text-end";
      text.append(end);
      this.ends.set(end, subject);
      this.observer?.observe(end);
    }
  }

  /** Scroll towards what has not been in view of this subject's texts, by a window at most. @param {string} subject */
  readOn(subject) {
    const end = [...this.ends.keys()].find((each) => this.ends.get(each) === subject && each.isConnected);
    if (!end) return;
    const bottom = isDocked() ? this.dock.getBoundingClientRect().top : innerHeight;
    const unseen = end.getBoundingClientRect().bottom + AIR_PX - bottom;
    scrollBy({ top: Math.min(unseen, bottom - BAR_PX - AIR_PX) });
  }

  /**
   * How much of this subject's texts is still below the window, and how much there is; null if all has been in view.
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

  /** To where the texts of this subject end. @param {string} subject */
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

  /** An observer knows its margins from the start, and the dock grows and shrinks. */
  watch() {
    const covered = isDocked() ? Math.round(this.dock.getBoundingClientRect().height) : 0;
    if (covered === this.covered && this.observer) return;
    this.covered = covered;
    this.observer?.disconnect();
    this.observer = new IntersectionObserver((seen) => seen.forEach((entry) => this.saw(entry)), {
      rootMargin: `${ABOVE_PX}px 0px -${covered}px 0px`,
    });
    for (const end of this.ends.keys()) this.observer.observe(end);
  }

  /** @param {IntersectionObserverEntry} entry */
  saw({ isIntersecting, target }) {
    const subject = this.ends.get(target);
    if (!isIntersecting || subject === undefined) return;
    this.ends.delete(target);
    this.observer?.unobserve(target);
    const isWaiting = [...this.ends].some(([end, each]) => each === subject && end.isConnected);
    if (!isWaiting) this.onSeen(subject);
  }
}

/** Whether the dock stays in sight; in a low window it scrolls with the page. */
export function isDocked() {
  const dock = document.getElementById("dock");
  return dock !== null && getComputedStyle(dock).position === "sticky";
}

/** Whether some of it can be seen between the bar and the dock. @param {Element | null} element */
export function isInView(element) {
  if (!element) return true;
  const { top, bottom } = element.getBoundingClientRect();
  const dock = isDocked() ? document.getElementById("dock") : null;
  return bottom > BAR_PX && top < (dock?.getBoundingClientRect().top ?? innerHeight);
}
