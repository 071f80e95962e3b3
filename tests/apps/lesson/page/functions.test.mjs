import assert from "node:assert/strict";
import test from "node:test";
import {
  errorFunction,
  logisticFunction,
  normalDistribution,
} from "../../../../apps/lesson/page/ops/functions.js";

const isNear = (a, b, relative) => Math.abs(a - b) <= relative * Math.abs(b);

// The integral of the density, by Simpson's rule: another way to the same numbers.
function erfByIntegral(x) {
  const steps = 4000;
  const h = x / steps;
  let sum = 0;
  for (let i = 0; i <= steps; i++) {
    const weight = i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2;
    sum += weight * Math.exp(-((i * h) ** 2));
  }
  return ((2 / Math.sqrt(Math.PI)) * sum * h) / 3;
}

test("erf is the integral of its density", () => {
  for (let x = 0.05; x < 6; x += 0.05) {
    assert.ok(isNear(errorFunction(x), erfByIntegral(x), 2e-14), `erf(${x})`);
    assert.equal(errorFunction(-x), -errorFunction(x));
  }
  assert.equal(errorFunction(0), 0);
  assert.equal(errorFunction(30), 1);
});

// Φ(x) ≈ φ(x) / |x| (1 - 1 / x² + 3 / x⁴ - 15 / x⁶ + …) far to the left.
test("the normal distribution has its digits far to the left", () => {
  for (let x = -38; x < -20; x++) {
    const square = 1 / (x * x);
    const series = 1 - square * (1 - square * (3 - square * (15 - square * (105 - square * 945))));
    const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
    assert.ok(isNear(normalDistribution(x), (density / -x) * series, 1e-11), `Φ(${x})`);
  }
});

test("both branches of a function meet", () => {
  for (const x of [2.5, -2.5 * Math.SQRT2, 2.5 * Math.SQRT2]) {
    const below = normalDistribution(x - 1e-13);
    assert.ok(isNear(below, normalDistribution(x + 1e-13), 2e-12));
  }
  assert.ok(isNear(errorFunction(2.5 - 1e-14), errorFunction(2.5), 1e-15));
});

test("the logistic function does not overflow", () => {
  assert.equal(logisticFunction(0), 0.5);
  assert.equal(logisticFunction(-1000), 0);
  assert.equal(logisticFunction(1000), 1);
});
