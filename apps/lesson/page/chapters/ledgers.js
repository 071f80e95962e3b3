// Gradients of several uses of a value add up: which share came by which path.
import { addendsOf } from "../tape/layers.js";
import { allHeads, ofQuantity, ownValue, sequencePart } from "./parts.js";
import { invariantHolds, isZero } from "../lesson/premises.js";

export const ledgerChapter = {
  id: "ledger",
  hasExercises: true,
  questions: [{ key: "ledger.most", holds: (lesson) => invariantHolds(lesson, "sum_of_paths") }],
  step({ anatomy, layer, queries }) {
    const linear = anatomy.narrowLinearBehind(layer.q) ?? anatomy.linearBehind(layer.q);
    const sum = layer.isNormFirst ? undefined : anatomy.sumWithInput(layer);
    return ledgerOf(anatomy, { x: linear?.x ?? layer.read, symbol: "X", rowNames: queries, readers: [layer], sum });
  },
};

export const ledgerOfMemoryChapter = {
  id: "ledger_memory",
  questions: [{ key: "ledger.most", holds: (lesson) => invariantHolds(lesson, "sum_of_paths") }],
  // The memory is read by the keys and values of every layer of the decoder.
  step({ anatomy, layer, keys, document }) {
    const x = layer.isCross ? anatomy.at("encoder.output") : undefined;
    const isThere = (path) => path.endsWith("cross_attention") && anatomy.at(`${path}.q`) !== undefined; // not in a part
    const readers = document.meta.layers.filter(isThere).map((path) => anatomy.layer(path));
    return ledgerOf(anatomy, { x, symbol: "X_{enc}", rowNames: keys, readers });
  },
};

// dX = its shares by Q, K and V of the layers that read x, and what comes past them, by `sum`.
function ledgerOf(anatomy, { x, symbol, rowNames, readers, sum = undefined }) {
  const gradient = x === undefined ? undefined : anatomy.gradient(x);
  if (gradient === undefined || gradient === null) return null;
  const past = sum === undefined ? undefined : anatomy.gradient(anatomy.adopt(sum));
  const addends = addendsOf(anatomy.program, gradient);
  const parts = readers.flatMap((layer) =>
    Object.values(letters).flatMap((letter) => {
      const value = addends.find((each) => each !== past && letterOf(anatomy, each, layer) === letter);
      const path = symbol === "X" ? letter : `${letter},${numberOfBlock(layer.path)}`;
      const part = allHeads(anatomy, layer, letter, { path: path.slice(1), rowNames });
      const share = { symbol, path, x, value, rowNames, family: letter };
      return value === undefined ? [] : [{ ...part, gradientPart: sharePart(anatomy, share) }];
    }),
  );
  const residual = addends.includes(past) ? [{ symbol: "dR", value: past }] : [];
  const shares = [...parts.map(({ gradientPart }) => gradientPart), ...residual];
  if (shares.length < 2 || shares.length !== addends.length) return null;
  const stream = residual.length > 0 ? [sequencePart("R", sum, rowNames)] : [];
  const shown = [...ofQuantity("stream", [sequencePart(symbol, x, rowNames)]), ...parts, ...ofQuantity("stream", stream)];
  return ledgerShown(symbol, gradient, shares, shown);
}

const ledgerShown = (symbol, total, shares, parts) => ({
  layout: { kind: "stack", parts },
  shares,
  total,
  backward: [`d${symbol} = ${shares.map((share) => share.symbol).join(" + ")}`],
  invariants: ["sum_of_paths"],
});

export const ledgerOfInputChapter = {
  id: "ledger_input",
  questions: [
    { key: "ledger_input.without_attention", holds: (lesson) => invariantHolds(lesson, "sum_of_paths") && !isZero(lesson, "dR") },
  ],
  // dX_in = what comes past the layer + what comes through it.
  step({ anatomy, layer, queries }) {
    const gradient = layer.input === undefined ? undefined : anatomy.gradient(layer.input);
    if (gradient === undefined || layer.mixed === undefined || layer.norm === undefined) return null;
    const addends = addendsOf(anatomy.program, gradient);
    const past = anatomy.gradient(layer.mixed);
    if (addends.length !== 2 || !addends.includes(past)) return null;
    const way = { symbol: "X_{in}", path: "norm", value: addends.find((value) => value !== past) };
    const gradientPart = sharePart(anatomy, { ...way, x: layer.input, rowNames: queries });
    const residual = sequencePart("R", layer.mixed, queries);
    const normed = { ...sequencePart("X", layer.norm, queries), gradientPart };
    const parts = [...ofQuantity("stream", [sequencePart("X_{in}", layer.input, queries), residual]), normed];
    return ledgerShown("X_{in}", gradient, [{ symbol: "dR", value: past }, gradientPart], parts);
  },
};

const letters = { query: "q", key: "k", value: "v" };

// What comes back from each use of a value, with the op that used it.
export function sharesOfUses(anatomy, x) {
  const gradient = anatomy.gradient(x);
  if (gradient === undefined || gradient === null) return [];
  return addendsOf(anatomy.program, gradient).map((value) => ({ value, op: anatomy.originOf(value) }));
}

// What comes back to x through the ops of a scope, where x is also used elsewhere; `path` is what
// this way is called.
export function shareThrough(anatomy, { scope, path, symbol, x, rowNames }) {
  const shares = sharesOfUses(anatomy, x);
  const own = shares.find(({ op }) => op?.scope === scope);
  return shares.length < 2 || !own ? undefined : sharePart(anatomy, { symbol, path, x, value: own.value, rowNames });
}

export const pathsOfScope = { query: "q", key: "k", value: "v", up: "1", gate: "3" };

// What comes past a sum, and through each other use of x: dX_in = dR + dX_in,norm.
export function ruleOfUses(anatomy, { x, symbol, past = null, sum = undefined }) {
  const parts = sharesOfUses(anatomy, x).map(({ value, op }) => {
    if (sum !== undefined && value === anatomy.gradient(sum)) return past;
    const path = /norm$/.test(op?.op ?? "") ? "norm" : pathsOfScope[op?.scope?.split(".").at(-1)];
    return path && shareSymbol(symbol, path);
  });
  if (parts.length === 0 || parts.includes(undefined)) return [];
  return [`d${symbol} = ${parts.sort((a, b) => Number(b === past) - Number(a === past)).join(" + ")}`];
}

// dX_q of X and q; dX_{enc,k} of X_{enc} and k.
export function shareSymbol(symbol, path) {
  const below = /^(.*)_\{(.*)\}$/.exec(symbol);
  return below ? `d${below[1]}_{${below[2]},${path}}` : `d${symbol}_{${path}}`;
}

export function sharePart(anatomy, { symbol, path, x, value, rowNames, family = "x" }) {
  return {
    ...sequencePart(shareSymbol(symbol, path), anatomy.adopt(value), rowNames, family),
    isShare: true,
    shareOf: x,
    quantity: "stream",
  };
}

// "q", "k" or "v", of what comes back through this layer.
function letterOf(anatomy, value, layer) {
  const scope = anatomy.originOf(value)?.scope;
  const isMadeOf = (each, own) => {
    const op = anatomy.op(each);
    return each === own || (["reshape", "permute", "rotary_backward"].includes(op?.op) && isMadeOf(op.inputs[0], own));
  };
  const isOf = ([name, letter]) => scope === `${layer.path}.${name}` || isMadeOf(value, anatomy.gradient(ownValue(layer, letter)));
  return Object.entries(letters).find(isOf)?.[1];
}

export const numberOfBlock = (path) => /blocks\.(\d+)/.exec(path)?.[1];
