// Gradients of several uses of a value add up: which share came by which path.
import { ofQuantity, sequencePart } from "./parts.js";

export function ledgerSteps(facts) {
  return [ledgerOfX(facts), ledgerOfInput(facts)].filter(Boolean);
}

const letters = { query: "q", key: "k", value: "v" };
const families = { query: "q", key: "k", value: "v" };

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
    value: layer[letters[use]],
    look: "heads",
    band: anatomy.shape(layer[letters[use]])[3],
    family: families[use],
    rowNames: queries,
    gradientPart: sharePart(anatomy, {
      symbol: "X",
      path: letters[use],
      x: linear.x,
      value,
      rowNames: queries,
      family: families[use],
    }),
  }));
  return {
    id: "ledger",
    group: "attention",
    layout: {
      kind: "stack",
      parts: [...ofQuantity("stream", [sequencePart("X", linear.x, queries)]), ...parts],
    },
    shares: inOrder.map(({ use, value }) => ({ name: `dX_${letters[use]}`, value })),
    total: gradient,
    forward: "Q = X W_q, K = X W_k, V = X W_v",
    backward: ["dX = dQ W_q^T + dK W_k^T + dV W_v^T"],
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
function shareSymbol(symbol, path) {
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
    id: "ledger_input",
    group: "attention",
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
