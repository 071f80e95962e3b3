// A step as a script for NumPy: its matrices, the lines that make one of them from the others, and
// what the page has, to compare.
import { keyOf } from "./matrices.js";
import { fullNumber } from "./numbers.js";

// By step: lines of Python. A name ending in "_" is computed here.
const linesOf = {
  embedding: () => ["X_in_ = A + e"],
  norm: normLines,
  second_norm: normLines,
  final_norm: normLines,
  query: () => linear("X", "q", "Q"),
  key: () => linear("X", "k", "K"),
  value: () => linear("X", "v", "V"),
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
  ledger: () => ["dX_ = dX_q + dX_k + dX_v"],
  ledger_input: () => ["dX_in_ = dR + dX_norm"],
  residual: () => ["R_ = X_in + Y"],
  second_residual: () => ["X_out_ = R + F"],
  up: () => [...linear("N", "1", "U"), "dN_ = dU @ W_1.T"],
  logits: () => ["logits_ = H @ W + b", "dH_ = dlogits @ W.T"],
  loss: () => ["p_ = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)"],
  down: () => [...linear("G", "2", "F"), "dG_ = dF @ W_2.T"],
};

const linear = (x, letter, y) => [
  `${y}_ = ${x} @ W_${letter} + b_${letter}`,
  `dW_${letter}_ = ${x}.T @ d${y}`,
  `db_${letter}_ = d${y}.sum(axis=0, keepdims=True)`,
];

// x̂ and what a layer norm, or an RMS norm, makes of it.
function normLines({ norm: { from, to, letter, epsilon, isLayerNorm } }) {
  const x = from.replace(/[{}]/g, "");
  const centred = isLayerNorm ? `(${x} - ${x}.mean(axis=1, keepdims=True))` : x;
  const square = isLayerNorm
    ? `${x}.var(axis=1, keepdims=True)`
    : `(${x} ** 2).mean(axis=1, keepdims=True)`;
  const bias = isLayerNorm ? ` + b${letter}` : "";
  return [`${to}_ = g${letter} * ${centred} / np.sqrt(${square} + ${epsilon})${bias}`];
}

const pythonNumber = (x) =>
  fullNumber(x).replace("−", "-").replace("∞", "np.inf").replace("NaN", "np.nan");

function arrayOf(matrix) {
  const { rows, columns } = matrix.grid;
  const line = (row) =>
    Array.from({ length: columns }, (_, column) => pythonNumber(matrix.number(row, column))).join(
      ", ",
    );
  const lines = Array.from({ length: rows }, (_, row) => `    [${line(row)}],`);
  return `${keyOf(matrix.symbol)} = np.array([\n${lines.join("\n")}\n])`;
}

const isPythonName = (name) => /^[A-Za-z_]\w*$/.test(name);

export function numpyScript(lesson) {
  const { step, layer } = lesson;
  const matrices = lesson
    .matrices()
    .flatMap(({ forward, backward }) => [forward, backward])
    .filter((matrix) => matrix && isPythonName(keyOf(matrix.symbol)));
  const known = new Set(matrices.map(({ symbol }) => keyOf(symbol)));
  const hasMask = layer.masked !== undefined && layer.masked !== layer.scores;
  const facts = { factor: layer.scale, scores: hasMask ? "S_m" : "S", norm: step.norm };
  const lines = (linesOf[step.id]?.(facts) ?? []).map((text) => withoutMissing(text, known));
  const usable = lines.filter((text) => namesIn(text).every((name) => known.has(name)));
  const checks = usable.map((text) => {
    const made = text.split(" = ")[0];
    const shown = made.slice(0, -1);
    return `print("${shown}", np.abs(np.nan_to_num(${made} - ${shown})).max())`;
  });
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
    ...checks.filter((_, i) => known.has(usable[i].split(" = ")[0].slice(0, -1))),
    "",
  ].join("\n");
}

// Without a bias there is nothing to add; keys and values of another sequence have another X.
function withoutMissing(text, known) {
  const withX = known.has("X_enc") ? text.replace(/\bX\b/g, "X_enc") : text;
  return withX.replace(/ \+ b(_\w+)?$/, (bias) => (known.has(bias.slice(3)) ? bias : ""));
}

// The names that a line reads, and that it is compared with.
function namesIn(text) {
  const [made, made_of] = text.split(" = ");
  const read = made_of.match(/\b(?:d?[A-Z]\w*|db_\w+|b_\w+)\b/g) ?? [];
  return [made.slice(0, -1), ...read.filter((name) => !["T", "True", "E_"].includes(name))];
}
