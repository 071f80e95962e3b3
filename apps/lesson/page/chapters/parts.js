// Matrices of steps. Those with one `quantity`, in one step, are drawn on one scale.

// One whose rows are a sequence.
export const sequencePart = (symbol, value, rowNames, family = "x") => ({
  symbol,
  value,
  look: "rows",
  family,
  rowNames,
});

// The queries, keys or values of a layer; of keys and values those that several heads share.
export const ownValue = (layer, letter) => ({ q: layer.q, k: layer.ownK, v: layer.ownV })[letter];

// What leaves a block; of the last block of an encoder without a norm after it the memory.
export const outputSymbol = ({ anatomy, layer }) =>
  layer.blockOutput === anatomy.at("encoder.output") ? "X_{enc}" : "X_{out}";

// All heads of these side by side.
export const allHeads = (anatomy, layer, letter, { path = "", rowNames }) => ({
  symbol: `${letter.toUpperCase()}_{all${path}}`,
  value: ownValue(layer, letter),
  look: "heads",
  band: anatomy.shape(layer[letter])[3],
  family: letter,
  rowNames,
});

// The weight of a linear map, and its bias where it has one.
export const partsOfLinear = (linear, letter, more = {}) =>
  [
    { symbol: `W${letter}`, value: linear.weight, look: "weight", family: "w", ...more },
    { symbol: `b${letter}`, value: linear.bias, look: "rows", family: "w", ...more },
  ].filter(({ value }) => value !== undefined);

// The matrices and rules of Y = X W + b; of X and W the gradient may be a share, that of this use.
export function linearShown(left, top, result) {
  const [weight, bias] = top;
  const back = ({ symbol, gradientPart }) => gradientPart?.symbol ?? `d${symbol}`;
  return {
    layout: { kind: "product", left, top, result },
    forward: [`${result.symbol} = ${left.symbol} ${weight.symbol}${bias ? ` + ${bias.symbol}` : ""}`],
    backward: [
      `${back(weight)} = ${left.symbol}^T d${result.symbol}`,
      ...(bias ? [`d${bias.symbol} = colsum(d${result.symbol})`] : []),
      `${back(left)} = d${result.symbol} ${weight.symbol}^T`,
    ],
  };
}

export const ofQuantity = (quantity, parts) => parts.map((part) => ({ ...part, quantity }));

// Scores, from the product to the weights, of one head.
export function partsOfScores({ layer, queries, keys }) {
  const map = (symbol, value, hue = "signed", quantity = "scores") => ({
    symbol,
    value,
    hue,
    quantity,
    look: "map",
    family: "p",
    rowNames: queries,
    columnNames: keys,
  });
  const hasMask = layer.masked !== undefined && layer.masked !== layer.scores;
  return {
    hasMask,
    raw: map("Z", layer.raw),
    scaled: map("Z_c", layer.scaled),
    scores: map("S", layer.scores),
    masked: map(hasMask ? "S_m" : "S", hasMask ? layer.masked : layer.scores),
    weights: map("P", layer.weights, "share", null),
  };
}

// What is shown of a part, {part, symbol, value}: its value and the gradient of that, without what the page derives.
export function shownOf(anatomy, part) {
  const { symbol, value, derived, noGradient, gradientPart } = part;
  const forward = derived ? [] : [{ part, symbol, value }];
  if (gradientPart?.derived) return forward;
  if (gradientPart) return [...forward, { part: gradientPart, symbol: gradientPart.symbol, value: gradientPart.value }];
  const gradient = derived || noGradient ? undefined : anatomy.gradient(value);
  return gradient === undefined ? forward : [...forward, { part, symbol: `d${symbol}`, value: gradient }];
}

// All matrices of a step.
export function partsOf(step) {
  const { layout } = step;
  if (!layout) return [];
  return layout.kind === "product" ? [layout.left, ...layout.top, layout.result] : layout.parts;
}
