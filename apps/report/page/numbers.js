// The arithmetic of the sliders.

export function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

export function entropy(weights) {
  return -weights.reduce((sum, p) => sum + (p > 0 ? p * Math.log(p) : 0), 0);
}

export function variance(numbers) {
  const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
  return numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (numbers.length - 1);
}

// dS = P ∘ (dP - rowsum(dP ∘ P)), of one row.
export function softmaxGradient(weights, pushed) {
  const share = weights.reduce((sum, p, i) => sum + p * pushed[i], 0);
  return weights.map((p, i) => p * (pushed[i] - share));
}

// The same numbers each time: mulberry32, and Box and Muller's way to mean 0 and variance 1.
export function randomNormals(count) {
  let state = 20170612;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const numbers = [];
  while (numbers.length < count) {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    const angle = 2 * Math.PI * uniform();
    numbers.push(radius * Math.cos(angle), radius * Math.sin(angle));
  }
  return numbers.slice(0, count);
}
