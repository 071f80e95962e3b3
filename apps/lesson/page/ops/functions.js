// Functions of one number, which ops apply to every element and expressions write by name.

// erf(x) = 2 / sqrt(π) exp(-x²) Σ 2ⁿ x²ⁿ⁺¹ / (1 · 3 · … (2n + 1)), all of one sign, so that nothing
// cancels. Abramowitz and Stegun, "Handbook of mathematical functions", 1964, 7.1.6.
/** @param {number} x */
function erfBySeries(x) {
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

// For x > 0, erfc(x) = exp(-x²) / sqrt(π) · 1 / (x + (1/2) / (x + 1 / (x + (3/2) / (x + …)))).
// The same, 7.1.14, from the inside out.
/** @param {number} x */
function erfcByFraction(x) {
  let fraction = x;
  for (let n = 60; n > 0; n--) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
}

const seriesEnds = 2.5;

/** @param {number} x */
export function errorFunction(x) {
  if (Math.abs(x) < seriesEnds) return erfBySeries(x);
  if (Number.isNaN(x)) return x;
  return Math.sign(x) * (1 - erfcByFraction(Math.abs(x)));
}

// Φ(x) = erfc(-x / sqrt(2)) / 2, also far left, where 1 + erf would have no digits.
/** @param {number} x */
export function normalDistribution(x) {
  const scaled = x * Math.SQRT1_2;
  if (scaled <= -seriesEnds) return erfcByFraction(-scaled) / 2;
  return (1 + errorFunction(scaled)) / 2;
}

/** @param {number} x */
export function logisticFunction(x) {
  if (x >= 0) return 1 / (1 + Math.exp(-x));
  const grown = Math.exp(x);
  return grown / (1 + grown);
}

export const functionsOfOne = {
  exp: Math.exp,
  log: Math.log,
  tanh: Math.tanh,
  sqrt: Math.sqrt,
  cos: Math.cos,
  sin: Math.sin,
  erf: errorFunction,
  sigmoid: logisticFunction,
  normalDistribution,
};
