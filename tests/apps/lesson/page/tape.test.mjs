import assert from "node:assert/strict";
import test from "node:test";
import { finiteDifference, vCurvePoints } from "../../../../apps/lesson/page/tape/differences.js";
import { Expression } from "../../../../apps/lesson/page/ops/expression.js";
import { comparerOf, mistakes } from "../../../../apps/lesson/page/tape/mistakes.js";
import { applySettings } from "../../../../apps/lesson/page/tape/settings.js";
import { Tape } from "../../../../apps/lesson/page/tape/tape.js";
import {
  formulasGiveTheNumbers,
  gradientsEqualDifferences,
  tailEqualsReplay,
  usesMatchFormulas,
} from "./checks.mjs";
import { elementsOf, inLayer, smallDocument, valueNamed } from "./small_document.mjs";

const tapeOf = (options) => new Tape(smallDocument(options)).run();
const layer = "blocks.0.attention";

function checkAll(tape, most) {
  formulasGiveTheNumbers(tape, most);
  usesMatchFormulas(tape, most);
  gradientsEqualDifferences(tape, most);
  tailEqualsReplay(tape, most);
}

for (const options of [{}, { scale: false }, { masked: false }, { scale: false, masked: false }]) {
  test(`a layer ${JSON.stringify(options)}`, () => checkAll(tapeOf(options), 9));
}

test("dS is written as the rule of softmax", () => {
  const tape = tapeOf();
  const value = tape.facts[inLayer(tape, "masked_scores")].gradient;
  const text = Expression.text(tape.expression(value, 4), (id, index) => {
    const short = tape.name(id).replace(`${layer}.`, "");
    return `${short}[${index}]`;
  });
  const terms = [3, 4, 5].map((i) => `weights[${i}] × d weights[${i}]`).join(" + ");
  assert.equal(text, `weights[4] × (d weights[4] − (${terms}))`);
});

test("every switch is right forward and backward, and can be taken back", () => {
  const cases = [
    { causal: false },
    { window: 1 },
    { causal: false, window: 1 },
    { scale: false },
    { scale: 0.3 },
    { causal: true, window: 1, scale: true },
  ];
  for (const options of [{}, { scale: false, masked: false }]) {
    const tape = tapeOf(options);
    for (const settings of cases) checkAll(applySettings(tape, settings), 9);
  }
  const [bare, full] = [tapeOf({ scale: false, masked: false }), tapeOf()];
  const made = applySettings(bare, { causal: true, scale: true });
  const taken = applySettings(full, { causal: false, scale: false });
  for (const name of ["scores", "masked_scores", "weights", "q", "k", "v"]) {
    const there = made.gradient(inLayer(made, name)).data;
    assert.deepEqual(there, full.gradient(inLayer(full, name)).data, name);
  }
  assert.equal(taken.loss(), bare.loss());
});

test("an edited cell stays, what depends on it follows, and the first tape is as it was", () => {
  const tape = tapeOf();
  const loss = tape.loss();
  for (const name of ["q", "scores", "weights", "heads", "value.weight"]) {
    const value = inLayer(tape, name);
    const edited = tape.edited([{ value, index: 3, number: 0.25 }]);
    assert.equal(edited.number(value, 3), 0.25);
    assert.notEqual(edited.loss(), loss);
    checkAll(edited, 9);
    checkAll(edited.edited([{ value, index: 2, number: -0.5 }]), 4);
  }
  assert.equal(tape.loss(), loss);
  assert.equal(tape.run().loss(), loss);
});

test("mistakes part from differences where they should, and nowhere else", () => {
  const tape = tapeOf();
  const wrong = {
    scale: ["x", "query.weight", "key.weight", "q", "k"],
    mask: [],
    row_sum: ["x", "query.weight", "key.weight", "q", "k", "scores", "masked_scores"],
    transpose: ["x", "key.weight", "k"],
    overwritten: ["x"],
  };
  for (const { id, isPossible, plant } of mistakes) {
    assert.equal(isPossible(tape, layer), id in wrong, id);
    const planted = plant(tape, layer);
    assert.equal(planted.loss(), tape.loss());
    const compare = comparerOf(tape, planted);
    const parted = tape.facts
      .map((fact, value) => ({ value, gradient: fact.gradient }))
      .filter(({ value, gradient }) => tape.isNamed(value) && gradient !== undefined && gradient !== null)
      .map(({ value, gradient }) => ({ name: tape.name(value), ...compare(gradient) }))
      .filter(({ isRight }) => !isRight);
    const names = parted.map(({ name }) => name.replace(`${layer}.`, ""));
    assert.deepEqual(names.sort(), (wrong[id] ?? []).sort(), id);
    const ratios = parted.filter(({ ratio }) => ratio !== null).map(({ ratio }) => ratio);
    if (id === "scale") assert.ok(ratios.every((ratio) => Math.abs(ratio - Math.SQRT2) < 1e-9));
  }
});

test("differences know their own error, and their curve has the form of a V", () => {
  const tape = tapeOf();
  const value = valueNamed(tape, "x");
  for (const index of elementsOf([1, 3, 2])) {
    const { value: numeric, error } = finiteDifference(tape, value, index);
    const analytic = tape.gradient(value).data[index];
    assert.ok(Math.abs(numeric - analytic) <= 3 * error + 1e-13);
    assert.ok(error < 1e-9);
    const errors = Array.from(vCurvePoints(tape, value, index), (point) => point.error);
    const least = Math.min(...errors);
    assert.ok(least < 1e-8 && errors[0] > 100 * least && errors.at(-1) > 100 * least);
  }
});
