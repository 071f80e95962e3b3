import assert from "node:assert/strict";
import test from "node:test";
import { Expression } from "../../../../apps/lesson/page/ops/expression.js";
import { opNamed, opNames } from "../../../../apps/lesson/page/ops/list.js";
import { opExamples, transposedPairs, wave } from "./examples.mjs";

const isNear = (a, b) =>
  a === b || Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(a), Math.abs(b));

function formulasGiveTheNumbers(node) {
  const op = opNamed(node.op);
  const data = op.run(node);
  const numbers = [...node.inputs.map((input) => input.data), data];
  data.forEach((x, index) => {
    const formula = op.cell(node, index);
    const y = Expression.evaluate(formula, (value, at) => numbers[value][at]);
    assert.ok(isNear(x, y), `${node.op}[${index}]: ${x} and, by its formula, ${y}`);
  });
}

// An input feeds exactly the cells whose numbers change with it.
function readersAreThoseThatChange(node) {
  if (node.op === "one_hot") return; // a constant
  const op = opNamed(node.op);
  const before = op.run(node);
  node.inputs.forEach((input, position) => {
    input.data.forEach((x, index) => {
      const data = Float64Array.from(input.data);
      data[index] = x + 0.01;
      const inputs = node.inputs.map((each, i) => (i === position ? { ...each, data } : each));
      const after = op.run({ ...node, inputs });
      const readers = new Set(op.readers(node, position, index));
      after.forEach((y, at) => {
        if (Object.is(y, before[at])) return;
        const through = ["rnn", "lstm"].includes(node.op); // states change states after them
        assert.ok(
          readers.has(at) || through,
          `${node.op}: input ${position}[${index}] feeds ${at}`,
        );
      });
      if (!Number.isFinite(x)) return;
      const changes = ["relu", "maximum", "max", "cross_entropy", "rnn", "lstm"];
      if (changes.includes(node.op)) return;
      for (const at of readers) {
        assert.notEqual(
          after[at],
          before[at],
          `${node.op}: ${at} reads input ${position}[${index}]`,
        );
      }
    });
  });
}

for (const node of opExamples) {
  const shapes = node.inputs.map(({ shape }) => `[${shape}]`).join(" ");
  test(`${node.op} ${shapes}: formulas give the numbers`, () => formulasGiveTheNumbers(node));
  test(`${node.op} ${shapes}: readers`, () => readersAreThoseThatChange(node));
}

test("every op has an example", () => {
  const chosen = ["is_not_positive", "class_of_target", "index_of_max"]; // constants in the engine
  const tried = new Set(opExamples.map(({ op }) => op));
  assert.deepEqual(
    opNames().filter((name) => !tried.has(name) && !chosen.includes(name)),
    [],
  );
});

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

for (const [name, transposed] of transposedPairs) {
  test(`${transposed} is ${name} transposed`, () => {
    for (const node of opExamples.filter(({ op }) => op === name)) {
      const x = node.inputs[0];
      const y = wave(node.shape, 3);
      const back = { ...node, inputs: [{ value: 0, ...y }], shape: x.shape };
      const there = dot(y.data, opNamed(name).run(node));
      assert.ok(isNear(there, dot(opNamed(transposed).run(back), x.data)));
    }
  });
}
