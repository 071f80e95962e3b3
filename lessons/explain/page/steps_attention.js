// The steps inside one attention layer: which matrices stand where, and their formulas.

import { ofQuantity, partsOfScores } from "./parts.js";
import { rulesOf } from "./settings.js";
import { shareThrough } from "./steps_ledger.js";

// A part is a matrix of a step: {symbol, value, look, family, hue, rowNames, columnNames, …}.
export function attentionSteps({ anatomy, layer, queries, keys }) {
  const [, heads] = anatomy.shape(layer.weights);
  const width = anatomy.shape(layer.q)[3];
  const facts = { anatomy, layer, queries, keys, heads, width };
  return [
    ...projectionSteps(facts),
    headsStep(facts),
    scoresStep(facts),
    ...scaleSteps(facts),
    maskStep(facts),
    softmaxStep(facts),
    sumStep(facts),
    concatStep(facts),
    outputStep(facts),
  ].filter(Boolean);
}

const projections = [
  { id: "query", symbol: "Q", letter: "q" },
  { id: "key", symbol: "K", letter: "k" },
  { id: "value", symbol: "V", letter: "v" },
];

function projectionSteps({ anatomy, layer, queries, keys }) {
  return projections.flatMap(({ id, symbol, letter }) => {
    const value = layer[letter];
    const linear = anatomy.linearBehind(value);
    const names = letter === "q" ? queries : keys;
    const source = layer.isCross && letter !== "q" ? "X_{enc}" : "X";
    const result = { symbol, value, look: "head", family: letter, rowNames: names };
    if (!linear) return [];
    const cut = anatomy.shape(value)[3];
    const rotated = linear.output !== value && anatomy.maker(value)?.op === "rotary";
    const before = rotated
      ? { ...result, symbol: `${symbol}_0`, value: unrotated(anatomy, value) }
      : result;
    const bias =
      linear.bias === undefined
        ? []
        : [
            {
              symbol: `b_${letter}`,
              value: linear.bias,
              look: "rows",
              cut,
              family: "w",
            },
          ];
    const weight = {
      symbol: `W_${letter}`,
      value: linear.weight,
      look: "weight",
      cut,
      family: "w",
    };
    const hasBias = bias.length > 0;
    const left = { symbol: source, value: linear.x, look: "rows", family: "x", rowNames: names };
    const share = shareThrough(anatomy, {
      scope: `${layer.path}.${id}`,
      path: letter,
      symbol: source,
      x: linear.x,
      rowNames: names,
    });
    const back = share?.symbol ?? `d${source}`;
    const step = {
      id,
      group: "attention",
      layout: {
        kind: "product",
        left: share ? { ...left, gradientPart: share } : left,
        top: [weight, ...bias],
        result: before,
      },
      forward: `${before.symbol} = ${source} W_${letter}${hasBias ? ` + b_${letter}` : ""}`,
      backward: [
        `dW_${letter} = ${source}^T d${before.symbol}`,
        ...(hasBias ? [`db_${letter} = colsum(d${before.symbol})`] : []),
        `${back} = d${before.symbol} W_${letter}^T`,
      ],
      invariants: letter === "k" ? ["key_bias"] : undefined,
    };
    return rotated ? [step, rotationStep(id, before, result)] : [step];
  });
}

function unrotated(anatomy, value) {
  return anatomy.adopt(anatomy.maker(value).inputs[0]);
}

function rotationStep(id, before, after) {
  return {
    id: `${id}_rotation`,
    texts: "rotation",
    group: "attention",
    layout: { kind: "stack", parts: ofQuantity("rotated", [before, after]) },
    forward: `${after.symbol}_t = R_t ${before.symbol}_t`,
    backward: [`d${before.symbol}_t = R_t^T d${after.symbol}_t`],
  };
}

function headsStep({ anatomy, layer, queries, keys }) {
  const all = projections.map(({ symbol, letter }) => ({
    symbol: `${symbol}_{all}`,
    value: layer[letter],
    look: "heads",
    band: anatomy.shape(layer[letter])[3],
    family: letter,
    rowNames: letter === "q" ? queries : keys,
  }));
  return {
    id: "heads",
    group: "attention",
    layout: { kind: "stack", parts: all },
    forward: "Q_{all} = [Q_1 Q_2 …]",
    backward: ["dQ_{all} = [dQ_1 dQ_2 …]"],
  };
}

function scoresStep(facts) {
  const { layer, queries, keys } = facts;
  const { raw } = partsOfScores(facts);
  return {
    id: "scores",
    group: "attention",
    layout: {
      kind: "product",
      left: { symbol: "Q", value: layer.q, look: "head", family: "q", rowNames: queries },
      top: [{ symbol: "K^T", value: layer.k, look: "headTurned", family: "k", columnNames: keys }],
      result: raw,
    },
    forward: "Z = Q K^T",
    backward: ["dQ = dZ K", "dK = dZ^T Q"],
  };
}

function scaleSteps(facts) {
  const { anatomy, layer } = facts;
  const { raw, scaled, scores } = partsOfScores(facts);
  const steps = [];
  if (layer.scaled !== layer.raw) {
    const after = layer.positionBias === undefined ? scores : scaled;
    steps.push({
      id: "scale",
      group: "attention",
      layout: { kind: "stack", parts: [raw, after] },
      forward: `${after.symbol} = frac{Z}{sqrt{d_k}}`,
      backward: [`dZ = frac{d${after.symbol}}{sqrt{d_k}}`],
    });
  }
  if (layer.positionBias !== undefined) {
    const value = anatomy.adopt(unbroadcast(anatomy, layer.positionBias));
    const rank = anatomy.shape(value).length;
    const bias = { ...scores, symbol: "B", value, look: rank === 4 ? "map" : "mapOfThree" };
    steps.push({
      id: "position_bias",
      group: "attention",
      layout: { kind: "stack", parts: [layer.scaled === layer.raw ? raw : scaled, bias, scores] },
      forward: `S = ${layer.scaled === layer.raw ? "Z" : "Z_c"} + B`,
      backward: ["dB = dS"],
    });
  }
  return steps;
}

function unbroadcast(anatomy, value) {
  const op = anatomy.op(value);
  return op?.op === "broadcast_to" ? op.inputs[0] : value;
}

function maskStep(facts) {
  const { hasMask, scores, masked } = partsOfScores(facts);
  if (!hasMask) return null;
  const hidden = hiddenKeys(facts.anatomy, facts.layer);
  return {
    id: "mask",
    group: "attention",
    layout: { kind: "stack", parts: [scores, masked] },
    forward: `S_m = S + M, M_{ij} = -∞ (${hidden})`,
    backward: [`dS = dS_m, 0 (${hidden})`],
  };
}

// Which keys j the mask hides from query i.
function hiddenKeys(anatomy, { masked }) {
  const mask = anatomy.op(masked).attributes.mask.value;
  const { data, shape } = anatomy.tape.values[mask];
  const { causal, window, isPadding } = rulesOf(data, shape);
  const rules = [
    causal ? "j > i" : null,
    window > 0 ? (causal ? `i - j > ${window}` : `|i - j| > ${window}`) : null,
    isPadding.includes(1) ? "padding" : null,
  ];
  return rules.filter(Boolean).join(" ∨ ");
}

function softmaxStep(facts) {
  const { anatomy, layer } = facts;
  const { masked, weights } = partsOfScores(facts);
  const inner = anatomy.softmaxBackward(layer.weights);
  const exponentials = {
    ...masked,
    symbol: "E",
    hue: "share",
    quantity: undefined,
    derived: "exponentials",
    gradientPart: inner && {
      ...masked,
      symbol: "P∘dP",
      value: inner.product,
      isGradient: true,
    },
  };
  return {
    id: "softmax",
    group: "attention",
    layout: { kind: "stack", parts: [masked, exponentials, weights] },
    forward: `E = exp(${masked.symbol} - max), P = frac{E}{rowsum(E)}`,
    backward: [`d${masked.symbol} = P ∘ (dP - rowsum(P ∘ dP))`],
    invariants: ["rows_of_weights", "rows_of_scores", "two_sums", "nothing_above"],
  };
}

function sumStep(facts) {
  const { layer, queries, keys } = facts;
  const { weights } = partsOfScores(facts);
  return {
    id: "sum",
    group: "attention",
    layout: {
      kind: "product",
      left: weights,
      top: ofQuantity("values", [
        { symbol: "V", value: layer.v, look: "head", family: "v", rowNames: keys },
      ]),
      result: {
        symbol: "O",
        value: layer.heads,
        look: "map",
        family: "o",
        quantity: "values",
        rowNames: queries,
      },
    },
    forward: "O = P V",
    backward: ["dP = dO V^T", "dV = P^T dO"],
    invariants: ["two_sums"],
  };
}

function concatStep({ layer, queries, width }) {
  return {
    id: "concat",
    group: "attention",
    layout: {
      kind: "stack",
      parts: ofQuantity("heads", [
        { symbol: "O", value: layer.heads, look: "map", family: "o", rowNames: queries },
        {
          symbol: "C",
          value: layer.concatenated,
          look: "rows",
          band: width,
          family: "o",
          rowNames: queries,
        },
      ]),
    },
    forward: "C = [O_1 O_2 …]",
    backward: ["dO_h = dC [h]"],
  };
}

function outputStep({ anatomy, layer, queries, width }) {
  const linear = anatomy.linearBehind(layer.output);
  if (!linear) return null;
  const result = { symbol: "Y", value: layer.output, look: "rows", family: "y", rowNames: queries };
  const bias =
    linear.bias === undefined
      ? []
      : [{ symbol: "b_o", value: linear.bias, look: "rows", family: "w" }];
  return {
    id: "output",
    group: "attention",
    layout: {
      kind: "product",
      left: {
        symbol: "C",
        value: linear.x,
        look: "rows",
        band: width,
        family: "o",
        rowNames: queries,
      },
      top: [{ symbol: "W_o", value: linear.weight, look: "weight", family: "w" }, ...bias],
      result,
    },
    forward: `Y = C W_o${bias.length > 0 ? " + b_o" : ""}`,
    backward: ["dW_o = C^T dY", "dC = dY W_o^T", ...(bias.length > 0 ? ["db_o = colsum(dY)"] : [])],
  };
}
