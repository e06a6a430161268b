/** Two short notes, synthesised: a file would have to be loaded first. */

const NOTES = [660, 880]; // Hz
const NOTE_SECONDS = 0.16;

export class Sound {
  constructor() {
    /** @type {AudioContext | null} */
    this.context = null;
  }

  /** Browsers let a page sound only after a press on it; call this in one, so that later plays work. */
  async play() {
    try {
      this.context ??= new AudioContext();
      await this.context.resume();
      NOTES.forEach((pitch, index) => this.note(pitch, index * NOTE_SECONDS));
    } catch {
      // No sound here: the title and the page say the same.
    }
  }

  /** @param {number} pitch @param {number} delay */
  note(pitch, delay) {
    if (!this.context) return;
    const start = this.context.currentTime + delay;
    const tone = new OscillatorNode(this.context, { type: "sine", frequency: pitch });
    const loudness = new GainNode(this.context, { gain: 0 });
    loudness.gain.setTargetAtTime(0.2, start, 0.01);
    loudness.gain.setTargetAtTime(0, start + NOTE_SECONDS * 0.6, 0.03);
    tone.connect(loudness).connect(this.context.destination);
    tone.start(start);
    tone.stop(start + NOTE_SECONDS * 2);
  }
}
