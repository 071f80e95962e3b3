// Gradients of several uses of a value add up: which share came by which path.
import { addendsOf } from "../tape/layers.js";
import { ofQuantity, ownValue, sequencePart } from "./parts.js";
import { invariantHolds, isZero } from "../lesson/premises.js";

export const ledgerChapter = {
  id: "ledger",
  hasExercises: true,
  questions: [{ key: "ledger.most", holds: (lesson) => invariantHolds(lesson, "sum_of_paths") }],
  // dX = its shares by Q, by K and by V.
  step({ anatomy, layer, queries }) {
    const narrow = anatomy.narrowLinearBehind(layer.q);
    const linear = narrow ?? anatomy.linearBehind(layer.q);
    const x = linear?.x ?? layer.read;
    const gradient = x === undefined ? undefined : anatomy.gradient(x);
    if (gradient === undefined || gradient === null) return null;
    const sum = layer.isNormFirst ? undefined : anatomy.sumWithInput(layer);
    const past = sum === undefined ? undefined : anatomy.gradient(anatomy.adopt(sum));
    const shares = addendsOf(anatomy.program, gradient)
      .filter((value) => value !== past)
      .map((value) => ({ value, ...pathOf(anatomy, value, layer) }));
    const known = shares.filter(({ use }) => use);
    if (known.length < 2 || known.length !== shares.length) return null;
    const residual = shares.length < addendsOf(anatomy.program, gradient).length ? [{ symbol: "dR", value: past }] : [];
    const sumPart = residual.length > 0 ? ofQuantity("stream", [sequencePart("R", sum, queries)]) : [];
    const inOrder = Object.keys(letters).flatMap((use) => known.filter((share) => share.use === use));
    const partOf = (way) => sharePart(anatomy, { ...way, x, rowNames: queries });
    const parts = inOrder.map(({ use, value }) => ({
      symbol: `${letters[use].toUpperCase()}_{all}`,
      value: ownValue(layer, letters[use]),
      look: "heads",
      band: anatomy.shape(layer[letters[use]])[3],
      family: letters[use],
      rowNames: queries,
      gradientPart: partOf({ symbol: "X", path: letters[use], value, family: letters[use] }),
    }));
    const summed = [...parts.map(({ gradientPart }) => gradientPart), ...residual];
    return {
      layout: {
        kind: "stack",
        parts: [...ofQuantity("stream", [sequencePart("X", x, queries)]), ...parts, ...sumPart],
      },
      shares: summed,
      total: gradient,
      backward: [`dX = ${summed.map(({ symbol }) => symbol).join(" + ")}`],
      invariants: ["sum_of_paths"],
    };
  },
};

export const ledgerOfMemoryChapter = {
  id: "ledger_memory",
  questions: [{ key: "ledger.most", holds: (lesson) => invariantHolds(lesson, "sum_of_paths") }],
  // The memory is read by the keys and values of every layer of the decoder.
  step({ anatomy, layer, keys, document }) {
    const x = layer.isCross ? anatomy.at("encoder.output") : undefined;
    const gradient = x === undefined ? undefined : anatomy.gradient(x);
    if (gradient === undefined || gradient === null) return null;
    const readers = document.meta.layers.map((path) => anatomy.layer(path)).filter(({ isCross }) => isCross);
    const shares = addendsOf(anatomy.program, gradient).map((value) => {
      const reader = readers.find((each) => pathOf(anatomy, value, each).use);
      const letter = reader && letters[pathOf(anatomy, value, reader).use];
      return reader && { letter, number: numberOfBlock(reader.path), value, made: ownValue(reader, letter) };
    });
    if (shares.length < 2 || shares.some((share) => !share)) return null;
    shares.reverse(); // as they were read
    const partOf = (way) => sharePart(anatomy, { ...way, x, rowNames: keys });
    const parts = shares.map(({ letter, number, value, made }) => ({
      symbol: `${letter.toUpperCase()}_{all,${number}}`,
      value: made,
      look: "heads",
      family: letter,
      rowNames: keys,
      gradientPart: partOf({ symbol: "X_{enc}", path: `${letter},${number}`, value, family: letter }),
    }));
    return {
      layout: {
        kind: "stack",
        parts: [...ofQuantity("stream", [sequencePart("X_{enc}", x, keys)]), ...parts],
      },
      shares: parts.map(({ gradientPart }) => gradientPart),
      total: gradient,
      backward: [`dX_{enc} = ${parts.map(({ gradientPart }) => gradientPart.symbol).join(" + ")}`],
      invariants: ["sum_of_paths"],
    };
  },
};

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
    const through = addends.find((value) => value !== past);
    const share = { symbol: "X_{in}", path: "norm", x: layer.input, value: through };
    const gradientPart = sharePart(anatomy, { ...share, rowNames: queries });
    const residual = sequencePart("R", layer.mixed, queries);
    const normed = { ...sequencePart("X", layer.norm, queries), gradientPart };
    return {
      layout: {
        kind: "stack",
        parts: [...ofQuantity("stream", [sequencePart("X_{in}", layer.input, queries), residual]), normed],
      },
      shares: [{ symbol: "dR", value: past }, gradientPart],
      total: gradient,
      forward: ["R = X_{in} + Y"],
      backward: ["dX_{in} = dR + dX_{in,norm}"],
      invariants: ["sum_of_paths"],
    };
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

// What comes past a sum, and through each other use of x: dX_in = dR + dX_in,norm. past: [symbol, the sum], if any
export function ruleOfUses(anatomy, { x, symbol, past: [whole, sum] = [] }) {
  const past = sum === undefined ? undefined : anatomy.gradient(sum);
  const ways = sharesOfUses(anatomy, x).filter(({ value }) => value !== past);
  const parts = ways.map(({ op }) => (/norm$/.test(op?.op ?? "") ? "norm" : pathsOfScope[op?.scope?.split(".").at(-1)]));
  if (parts.includes(undefined)) return [];
  const through = parts.map((part) => shareSymbol(symbol, part));
  const isPast = ways.length < sharesOfUses(anatomy, x).length;
  return [`d${symbol} = ${(isPast ? [whole, ...through] : through).join(" + ")}`];
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

// "query", "key" or "value" of this layer.
function pathOf(anatomy, value, layer) {
  const scope = anatomy.originOf(value)?.scope;
  const isOf = (name) => {
    const own = anatomy.gradient(ownValue(layer, letters[name]));
    return scope === `${layer.path}.${name}` || value === own || anatomy.op(value)?.inputs[0] === own;
  };
  return { use: Object.keys(letters).find(isOf), scope };
}

export const numberOfBlock = (path) => /blocks\.(\d+)/.exec(path)?.[1];
