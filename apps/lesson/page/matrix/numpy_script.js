// A step as a script for NumPy: its matrices, the lines that make one of them from the others, and
// what the page has, to compare.
import { keyOf } from "../lesson/symbols.js";
import { fullNumber } from "../ops/numbers.js";
import { indexOfTokens } from "../lesson/sequences.js";

// By step: lines of Python. A name ending in "_" is computed here.
const linesOf = {
  embedding: ({ tokens }) => [
    ...(tokens ? [`A_ = W_E[[${tokens.join(", ")}]]`] : []),
    "X_in_ = A + e",
  ],
  norm: normLines,
  norm_after: normLines,
  second_norm: normLines,
  second_norm_after: normLines,
  final_norm: normLines,
  query: (facts) => projection("q", facts),
  key: (facts) => projection("k", facts),
  value: (facts) => projection("v", facts),
  scores: () => ["Z_ = Q @ Kt", "dQ_ = dZ @ Kt.T", "dKt_ = Q.T @ dZ"],
  scale: ({ factor }) => [`S_ = Z * ${factor}`, `dZ_ = dS * ${factor}`],
  mask: () => ["S_m_ = np.where(np.isinf(S_m), S_m, S)", "dS_ = np.where(np.isinf(S_m), 0, dS_m)"],
  softmax: ({ scores: S }) => [
    `E_ = np.exp(${S} - ${S}.max(axis=1, keepdims=True))`,
    "P_ = E_ / E_.sum(axis=1, keepdims=True)",
    `d${S}_ = P * (dP - (P * dP).sum(axis=1, keepdims=True))`,
  ],
  sum: () => ["O_ = P @ V", "dP_ = dO @ V.T", "dV_ = P.T @ dO"],
  output: () => [...linear("C", "o", "Y"), "dC_ = dY @ W_o.T"],
  query_rotation: () => rotation("Q"),
  key_rotation: () => rotation("K"),
  concat: ({ band }) => [`O_ = C[:, ${band}]`, `dO_ = dC[:, ${band}]`],
  ledger: ({ shares }) => [`dX_ = ${shares.join(" + ")}`],
  ledger_memory: ({ shares }) => [`dX_enc_ = ${shares.join(" + ")}`],
  ledger_input: () => ["dX_in_ = dR + dX_in_norm"],
  residual: ({ sum }) => [sum, "dY_ = dR"],
  second_residual: ({ sum, result }) => [sum, `dF_ = d${result}`],
  activation: ({ activation }) => activationLines(activation),
  up: ({ source, back }) => [...linear(source, "1", "U"), `${back}_ = dU @ W_1.T`],
  logits: () => ["logits_ = H @ W + b", "dH_ = dlogits @ W.T"],
  loss: ({ counted }) => [
    "exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))",
    "p_ = exponentials / exponentials.sum(axis=1, keepdims=True)",
    `counted = np.array([${counted.join(", ")}])[:, None]`,
    "dlogits_ = (p - y) * counted / counted.sum()",
  ],
  down: () => [...linear("G", "2", "F"), "dG_ = dF @ W_2.T"],
};

const linear = (x, letter, y) => [
  `${y}_ = ${x} @ W_${letter} + b_${letter}`,
  `dW_${letter}_ = ${x}.T @ d${y}`,
  `db_${letter}_ = d${y}.sum(axis=0, keepdims=True)`,
];

const projection = (letter, { result, back, sharesWeight }) => [
  ...linear("X", letter, result).slice(0, sharesWeight ? 1 : undefined),
  `${back}_ = d${result} @ W_${letter}.T`,
];

// x̂ and what a layer norm, or an RMS norm, makes of it.
function normLines({ norm: { from, to, letter, epsilon, isLayerNorm } }) {
  const [x, made] = [from, to].map((symbol) => symbol.replace(/[{}]/g, ""));
  const centred = isLayerNorm ? `(${x} - ${x}.mean(axis=1, keepdims=True))` : x;
  const square = isLayerNorm
    ? `${x}.var(axis=1, keepdims=True)`
    : `(${x} ** 2).mean(axis=1, keepdims=True)`;
  const bias = isLayerNorm ? ` + b${letter}` : "";
  return [`${made}_ = g${letter} * ${centred} / np.sqrt(${square} + ${epsilon})${bias}`];
}

// R_t turns pairs of numbers by the angle t 10000^(-2i / D).
const rotation = (x) => [
  `pairs = np.arange(${x}_0.shape[1] // 2)`,
  `angles = np.outer(np.arange(len(${x}_0)), 10000.0 ** (-2 * pairs / ${x}_0.shape[1]))`,
  "turn = np.exp(1j * angles)",
  "complexes = lambda x: x[:, 0::2] + 1j * x[:, 1::2]",
  "pairwise = lambda z: np.stack([z.real, z.imag], axis=2).reshape(len(z), -1)",
  `${x}_ = pairwise(complexes(${x}_0) * turn)`,
  `d${x}_0_ = pairwise(complexes(d${x}) * turn.conj())`,
];

// G = f(U), dU = dG ∘ f'(U).
const slopes = {
  relu: ["f = lambda x: np.maximum(x, 0)", "slope = lambda x: x > 0"],
  silu: [
    "sigmoid = lambda x: 1 / (1 + np.exp(-x))",
    "f = lambda x: x * sigmoid(x)",
    "slope = lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x)))",
  ],
  gelu: [
    "from math import erfc",
    "normal = np.vectorize(lambda x: erfc(-x / np.sqrt(2)) / 2)",
    "f = lambda x: x * normal(x)",
    "slope = lambda x: normal(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)",
  ],
};

function activationLines({ op, attributes }) {
  if (!slopes[op] || attributes.tanh) return [];
  return [...slopes[op], "G_ = f(U)", "dU_ = dG * slope(U)"];
}

const pythonNumber = (x) =>
  fullNumber(x).replace("−", "-").replace("∞", "np.inf").replace("NaN", "np.nan");

function arrayOf(matrix) {
  const { rows, columns } = matrix.grid;
  const line = (row) =>
    Array.from({ length: columns }, (_, column) => pythonNumber(matrix.numberShown(row, column)));
  const lines = Array.from({ length: rows }, (_, row) => `    [${line(row).join(", ")}],`);
  return `${pythonName(matrix.symbol)} = np.array([\n${lines.join("\n")}\n])`;
}

// dX_in,norm has another than in addresses.
const pythonName = (symbol) => keyOf(symbol).replaceAll(",", "_");
const isPythonName = (name) => /^[A-Za-z_]\w*$/.test(name);

// Whether something of a step can be computed from the rest of it.
export function computesSomething(lesson) {
  return computedIn(lesson).compared.length > 0;
}

function computedIn(lesson) {
  const { step } = lesson;
  const matrices = lesson
    .matrices()
    .flatMap(({ forward, backward }) => [forward, backward])
    .filter((matrix) => matrix && isPythonName(pythonName(matrix.symbol)));
  const known = new Set(matrices.map(({ symbol }) => pythonName(symbol)));
  const lines = (linesOf[step.id]?.(factsOf(lesson)) ?? []).map((text) =>
    withoutMissing(text, known),
  );
  const usable = lines.filter((text) => namesIn(text).every((name) => known.has(name)));
  const made = usable.map((text) => text.split(" = ")[0].slice(0, -1));
  const compared = made.filter((name) => known.has(name) && usable.some(makes(name)));
  return { matrices, usable, compared };
}

export function numpyScript(lesson) {
  const { step, layer } = lesson;
  const { matrices, usable, compared } = computedIn(lesson);
  const checks = compared.map(
    (name) => `print("${name}", np.abs(np.nan_to_num(${name}_ - ${name})).max())`,
  );
  return [
    `# ${lesson.document.meta.name.replace(/\s+/g, " ")}: ${layer.path}, head ${lesson.state.head}`,
    `# ${[step.forward, step.backward].flat().filter(Boolean).join("; ")}`,
    "import numpy as np",
    "",
    'np.seterr(invalid="ignore")',
    "",
    ...matrices.map(arrayOf),
    "",
    ...usable,
    "",
    "# the largest difference from what the page shows",
    ...checks,
    "",
  ].join("\n");
}

const makes = (name) => (text) => text.startsWith(`${name}_ = `);

// What the lines of a step depend on.
function factsOf(lesson) {
  const { step, layer, anatomy, state, tape } = lesson;
  const hasMask = layer.masked !== undefined && layer.masked !== layer.scores;
  const width = anatomy.shape(layer.q)[3];
  const tokens = indexOfTokens(lesson);
  const hasClassToken = anatomy.at("class_token") !== undefined;
  const { targets = [] } = lesson.document.meta.texts ?? {};
  return {
    result: pythonName(resultOf(step)?.symbol ?? ""),
    sum: sumLine(step.layout),
    sharesWeight: step.sharesWeight,
    source: pythonName(step.layout?.left?.symbol ?? ""),
    back: pythonName(step.layout?.left?.gradientPart?.symbol ?? `d${step.layout?.left?.symbol}`),
    counted: targets.map((target) => (target === null ? 0 : 1)),
    factor: layer.scale,
    scores: hasMask ? "S_m" : "S",
    norm: step.norm,
    band: `${state.head * width}:${(state.head + 1) * width}`,
    shares: (step.shares ?? []).map(({ name }) => name.replaceAll(",", "_")),
    activation: layer.hidden === undefined ? null : anatomy.maker(layer.hidden),
    tokens: tokens === undefined || hasClassToken ? null : [...tape.values[tokens].data],
  };
}

const resultOf = ({ layout }) => layout?.result ?? layout?.parts.at(-1);

// R_ = X_in + Y
function sumLine(layout) {
  const names = (layout?.parts ?? []).map(({ symbol }) => pythonName(symbol));
  return `${names.at(-1)}_ = ${names.slice(0, -1).join(" + ")}`;
}

// Without a bias there is nothing to add; keys and values of another sequence have another X.
function withoutMissing(text, known) {
  const source = ["X_enc", "X_h", "X_enc_h"].find((name) => known.has(name));
  const withX = source ? text.replace(/\bX\b/g, source) : text;
  return withX.replace(/ \+ b(_\w+)?$/, (bias) => (known.has(bias.slice(3)) ? bias : ""));
}

// The names of matrices that a line reads, and that it is compared with: not helpers, as `turn`,
// attributes, as .T, nor what the line before made.
function namesIn(text) {
  const [made, madeOf = ""] = text.split(" = ");
  const read = madeOf.match(/(?<![\w.])(?:d?[A-Z]\w*|db_\w+|b_\w+|p|y|d?logits)\b/g) ?? [];
  const names = read.filter((name) => !["True", "None", "E_"].includes(name));
  return made.endsWith("_") ? [made.slice(0, -1), ...names] : names;
}
