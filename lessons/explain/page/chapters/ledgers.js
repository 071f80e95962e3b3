// Gradients of several uses of a value add up: which share came by which path.
import { ofQuantity, ownValue, sequencePart } from "./parts.js";
import { invariantHolds, isZero } from "../lesson/premises.js";

export const ledgerChapter = {
  id: "ledger",
  group: "projections",
  hasExercises: true,
  texts: {
    name: ["Ledger of dX", "dX 的账本"],
    what: [
      "dX is the sum of what comes back by Q, by K and by V.",
      "dX 是经 Q、经 K、经 V 回来的梯度之和。",
    ],
    why: [
      "One X was used several times: gradients of several uses add up.",
      "同一个 X 用了几次（同源），几次的梯度要相加。",
    ],
    questions: [
      {
        ask: ["Which path brings most?", "哪条路径带回最多？"],
        answer: ["Read the shares: they sum to 1.", "看份额：它们之和为 1。"],
        holds: (lesson) => invariantHolds(lesson, "sum_of_paths"),
      },
    ],
  },
  step: ledgerOfX,
};

export const ledgerOfInputChapter = {
  id: "ledger_input",
  group: "input",
  texts: {
    name: ["Ledger of dX_in", "dX_in 的账本"],
    what: [
      "What went in gets one gradient past the layer, and one through it.",
      "输入得到两份梯度：一份绕过这一层，一份穿过这一层。",
    ],
    why: [
      "The first comes back unchanged, past any number of layers.",
      "第一份原样返回，不管要绕过多少层。",
    ],
    questions: [
      {
        ask: [
          "Would the layer below learn if attention passed nothing back?",
          "如果注意力什么都不传回，下面的层还能学习吗？",
        ],
        answer: ["Yes: dR reaches it all the same.", "能：dR 照样到达。"],
        holds: (lesson) => invariantHolds(lesson, "sum_of_paths") && !isZero(lesson, "dR"),
      },
    ],
  },
  step: ledgerOfInput,
};

const letters = { query: "q", key: "k", value: "v" };

// dX = its shares by Q, by K and by V.
function ledgerOfX({ anatomy, layer, queries }) {
  const linear = anatomy.linearBehind(layer.q);
  const gradient = linear && anatomy.gradient(linear.x);
  if (gradient === undefined || gradient === null) return null;
  const shares = anatomy
    .addends(gradient)
    .map((value) => ({ value, ...pathOf(anatomy, value, layer) }));
  const known = shares.filter(({ use }) => use);
  if (known.length < 2 || known.length !== shares.length) return null;
  const inOrder = Object.keys(letters).flatMap((use) => known.filter((share) => share.use === use));
  const parts = inOrder.map(({ use, value }) => ({
    symbol: `${letters[use].toUpperCase()}_{all}`,
    value: ownValue(layer, letters[use]),
    look: "heads",
    band: anatomy.shape(layer[letters[use]])[3],
    family: letters[use],
    rowNames: queries,
    gradientPart: sharePart(anatomy, {
      symbol: "X",
      path: letters[use],
      x: linear.x,
      value,
      rowNames: queries,
      family: letters[use],
    }),
  }));
  return {
    layout: {
      kind: "stack",
      parts: [...ofQuantity("stream", [sequencePart("X", linear.x, queries)]), ...parts],
    },
    shares: inOrder.map(({ use, value }) => ({ name: `dX_${letters[use]}`, value })),
    total: gradient,
    forward: "Q_{all} = X W_q, K_{all} = X W_k, V_{all} = X W_v",
    backward: ["dX = dQ_{all} W_q^T + dK_{all} W_k^T + dV_{all} W_v^T"],
    invariants: ["sum_of_paths"],
  };
}

// What comes back to x through the ops of a scope, where x is also used elsewhere; `path` is what
// this way is called.
export function shareThrough(anatomy, { scope, path, symbol, x, rowNames }) {
  const gradient = anatomy.gradient(x);
  if (gradient === undefined) return undefined;
  const shares = anatomy.addends(gradient);
  const value = shares.find((share) => anatomy.originOf(share) === scope);
  if (shares.length < 2 || value === undefined) return undefined;
  return sharePart(anatomy, { symbol, path, x, value, rowNames });
}

// dX_q of X and q; dX_{enc,k} of X_{enc} and k.
export function shareSymbol(symbol, path) {
  const below = /^(.*)_\{(.*)\}$/.exec(symbol);
  return below ? `d${below[1]}_{${below[2]},${path}}` : `d${symbol}_{${path}}`;
}

function sharePart(anatomy, { symbol, path, x, value, rowNames, family = "x" }) {
  return {
    ...sequencePart(shareSymbol(symbol, path), anatomy.adopt(value), rowNames, family),
    isShare: true,
    shareOf: x,
    quantity: "stream",
  };
}

// "query", "key" or "value" of this layer.
function pathOf(anatomy, value, layer) {
  const scope = anatomy.originOf(value);
  const use = Object.keys(letters).find((name) => scope === `${layer.path}.${name}`);
  return { use, scope };
}

// dX_in = what comes past the layer + what comes through it.
function ledgerOfInput({ anatomy, layer, queries }) {
  const gradient = layer.input === undefined ? undefined : anatomy.gradient(layer.input);
  if (gradient === undefined || layer.mixed === undefined || layer.norm === undefined) return null;
  const addends = anatomy.addends(gradient);
  const past = anatomy.gradient(layer.mixed);
  if (addends.length !== 2 || !addends.includes(past)) return null;
  const through = addends.find((value) => value !== past);
  const share = { symbol: "X_{in}", path: "norm", x: layer.input, value: through };
  const gradientPart = sharePart(anatomy, { ...share, rowNames: queries });
  const residual = sequencePart("R", layer.mixed, queries);
  const normed = { ...sequencePart("X", layer.norm, queries), gradientPart };
  return {
    layout: {
      kind: "stack",
      parts: [
        ...ofQuantity("stream", [sequencePart("X_{in}", layer.input, queries), residual]),
        normed,
      ],
    },
    shares: [
      { name: "dR", value: past },
      { name: "dX_in,norm", value: through },
    ],
    total: gradient,
    forward: "R = X_{in} + Y (norm(X_{in}))",
    backward: ["dX_{in} = dR + dX_{in,norm}"],
    invariants: ["sum_of_paths"],
  };
}
