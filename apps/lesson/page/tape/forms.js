// The same model with one setting of its structure changed: other heads, positions, projections. The
// engine recorded a tape of each, which is unpacked when the page has been shown.
import { Tape } from "./tape.js";
import { unpacked } from "../ops/numbers.js";

export class Forms {
  /** @param {Tape} recorded */
  constructor(recorded) {
    this.recorded = recorded;
    this.tapes = new Map();
    /** @type {any[]} */
    this.variants = [];
  }

  get settings() {
    return this.variants.map(({ setting }) => setting);
  }

  /** @param {string} packed */
  async load(packed) {
    if (packed.trim() === "") return;
    this.variants = JSON.parse(await unpacked(packed));
  }

  // The tape with that setting; as it was recorded where there is none.
  /** @param {string} setting */
  tape(setting) {
    const variant = this.variants.find((each) => each.setting === setting);
    if (!variant) return this.recorded;
    if (!this.tapes.has(setting)) this.tapes.set(setting, new Tape(this.complete(variant)).run());
    return this.tapes.get(setting);
  }

  // All questions with which the page trains the form, as a tape; null where there are none.
  /** @param {string} setting */
  practice(setting) {
    const variant = this.variants.find((each) => each.setting === setting) ?? this.recorded.document;
    return variant.practice ? new Tape(this.complete({ ...variant, ...variant.practice })).run() : null;
  }

  // A parameter without numbers has those of its name.
  /** @param {any} variant */
  complete(variant) {
    const known = new Map(
      this.recorded.document.values.map(({ name, kind, numbers }) => [`${kind} ${name}`, numbers]),
    );
    const values = variant.values.map((/** @type {any} */ value) => ({
      ...value,
      numbers: value.numbers ?? known.get(`${value.kind} ${value.name}`),
    }));
    return { ...this.recorded.document, ...variant, values };
  }
}
