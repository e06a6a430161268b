/** A text that comes in parts. */

/**
 * @typedef {{offset: number, text: string}} Part
 *   offset: code points of the known text that stay
 */

export class GrowingText {
  constructor() {
    /** Where the text is shown. */
    this.node = document.createTextNode("");
    /** Code points, as the server counts them. @type {string[]} */
    this.characters = [];
  }

  /** Show a part; false if it changes nothing, or another before it was missed. @param {Part} part */
  take({ offset, text }) {
    if (offset > this.characters.length || this.isShownAlready(offset, text)) return false;
    const isMore = offset === this.characters.length;
    this.characters.length = offset;
    for (const character of text) this.characters.push(character);
    if (isMore) this.node.appendData(text);
    else this.node.data = this.characters.join("");
    return true;
  }

  /** True if this part is on the page already. @param {number} offset @param {string} text */
  isShownAlready(offset, text) {
    const added = [...text];
    const end = offset + added.length;
    return added.length > 0 && end <= this.characters.length && this.characters.slice(offset, end).join("") === text;
  }

  clear() {
    this.node.data = "";
    this.characters = [];
  }
}
