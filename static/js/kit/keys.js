/**
 * Distinguishes single keys that answer from typed text. Pure: the time is passed in.
 *
 * A key answers if it stands on a choice, if the question has been there for long enough, and if no other key came
 * just before. Where keys follow each other closely and one of them stands on no choice, they are text: an answer that
 * the first of them gave is taken back.
 *
 * @typedef {{isChoice: boolean, mayAnswer: boolean, at: number}} Stroke  at in ms
 * @typedef {{kind: "answer" | "early" | "text", text: string, takesBack: boolean}} Meaning
 *   text: what was typed before this key and belongs to the same text
 */

/** Keys closer together than this are typing. */
export const BURST_MS = 300;

/** The code of zero in Arabic, Persian, Devanagari and full-width digits, which keyboards of these scripts type. */
const ZEROS = [0x0660, 0x06f0, 0x0966, 0xff10];

/** A typed character as it is written on the buttons. @param {string} key */
export function onButtons(key) {
  const code = key.charCodeAt(0);
  const zero = ZEROS.find((each) => code >= each && code <= each + 9);
  return zero === undefined ? key.toUpperCase() : String(code - zero);
}

export class KeyReader {
  constructor() {
    this.last = -Infinity;
    this.run = "";
    this.hasAnswered = false;
  }

  /** Note a key that is no answer; keys that follow closely are no answers either. @param {number} at */
  pass(at) {
    this.last = at;
    this.run = "";
    this.hasAnswered = false;
  }

  /**
   * True if a key at this time would undo an answer.
   *
   * @param {number} at
   */
  mayTakeBack(at) {
    return this.hasAnswered && at - this.last < BURST_MS;
  }

  /**
   * Meaning of a printable key.
   *
   * @param {string} key
   * @param {Stroke} stroke
   * @returns {Meaning}
   */
  read(key, { isChoice, mayAnswer, at }) {
    const isBurst = at - this.last < BURST_MS;
    const text = isBurst ? this.run : "";
    const takesBack = isBurst && this.hasAnswered;
    this.last = at;
    this.run = text + key;
    this.hasAnswered = takesBack;
    if (isChoice && (isBurst || !mayAnswer)) return { kind: "early", text: "", takesBack: false };
    if (isChoice) {
      this.hasAnswered = true;
      return { kind: "answer", text: "", takesBack: false };
    }
    this.pass(at);
    return { kind: "text", text, takesBack };
  }
}
