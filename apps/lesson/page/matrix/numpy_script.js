// A step as a script for NumPy: its matrices, its rules as lines of Python, and what the page has, to compare.
import { partsOf } from "../chapters/parts.js";
import { keyOf } from "../lesson/symbols.js";
import { fullNumber } from "../ops/numbers.js";
import { indexOfTokens } from "../lesson/sequences.js";

// What a rule may call, and what must be defined before it.
const helpers = {
  exp: "exp = np.exp",
  rowsum: "rowsum = lambda x: x.sum(axis=1, keepdims=True)",
  rowmax: "rowmax = lambda x: x.max(axis=1, keepdims=True)",
  rowmean: "rowmean = lambda x: x.mean(axis=1, keepdims=True)",
  colsum: "colsum = lambda x: x.sum(axis=0, keepdims=True)",
  softmax: "softmax = lambda x: exp(x - rowmax(x)) / rowsum(exp(x - rowmax(x)))",
  relu: "relu = lambda x: np.maximum(x, 0)",
  relu_slope: "relu_slope = lambda x: x > 0",
  sigmoid: "sigmoid = lambda x: 1 / (1 + np.exp(-x))",
  silu: "silu = lambda x: x * sigmoid(x)",
  silu_slope: "silu_slope = lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x)))",
  normal: "normal = np.vectorize(lambda x: __import__('math').erfc(-x / np.sqrt(2)) / 2)",
  gelu: "gelu = lambda x: x * normal(x)",
  gelu_slope: "gelu_slope = lambda x: normal(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)",
};

// Names of numbers and of arrays that no matrix shows: {name: line}.
function constantsOf(lesson) {
  const { step, layer, anatomy, tape, state } = lesson;
  const width = anatomy.shape(layer.q)[3];
  const found = { d_k: `d_k = ${width}`, band: `band = slice(${state.head * width}, ${(state.head + 1) * width})` };
  if (step.norm) {
    const x = pythonName(step.norm.from);
    found.mu = `mu = ${x}.mean(axis=1, keepdims=True)`;
    found.sigma = `sigma = ${x}.std(axis=1, keepdims=True)`;
    found.epsilon = `epsilon = ${step.norm.epsilon}`;
  }
  const tokens = indexOfTokens(lesson);
  if (tokens !== undefined && anatomy.at("class_token") === undefined) {
    found.token = `token = [${tape.values[tokens].data.join(", ")}]`;
    found.one_hot = "one_hot = np.eye(len(W_E))[token]";
  }
  const { targets = [0] } = lesson.document.meta.texts ?? {};
  const counted = targets.map((target) => (target === null ? 0 : 1));
  found.counted = `counted = np.array([${counted.join(", ")}])[:, None]`;
  found.n = "n = counted.sum()";
  found.i = "i = np.arange(len(S_m))[:, None]";
  found.j = "j = np.arange(S_m.shape[1])";
  found.M = `M = np.where(${hiddenBy(step.forward.find((rule) => rule.startsWith("M_")) ?? "padding")}, -np.inf, 0)`;
  return found;
}

// M_ij = −∞ (j > i ∨ |i − j| > 2); which keys are padding no rule says.
function hiddenBy(rule) {
  if (rule.includes("padding")) return "np.isinf(S_m)";
  const [, conditions] = /\((.*)\)$/.exec(rule);
  return conditions.split(" ∨ ").map((each) => `(${each.replace(/\|(.*)\|/, "abs($1)")})`).join(" | ");
}

// Rules that are no arithmetic of whole matrices: [pattern, lines].
const turn = [
  "pairs = np.arange($2.shape[1] // 2)",
  "turn = np.exp(1j * np.outer(np.arange(len($2)), 10000.0 ** (-2 * pairs / $2.shape[1])))",
  "complexes = lambda x: x[:, 0::2] + 1j * x[:, 1::2]",
  "pairwise = lambda z: np.stack([z.real, z.imag], axis=2).reshape(len(z), -1)",
];
/** @type {[RegExp, string[]][]} */
const special = [
  [/^(\S+) = (\S+) \[token_t\]$/, ["$1_ = $2[token]"]],
  [/^(\S+) = Σ_\{t: token_t = v\} (\S+)(.*)$/, ["$1_ = one_hot.T @ $2$3"]],
  [/^(\S+) = R_t (\S+)$/, [...turn, "$1_ = pairwise(complexes($2) * turn)"]],
  [/^(\S+) = R_t\^T (\S+)$/, [...turn, "$1_ = pairwise(complexes($2) * turn.conj())"]],
  [/^C = \[O_0 O_1 …\]$/, ["O_ = C[:, band]"]],
  [/^dO_h = dC \[h\]$/, ["dO_ = dC[:, band]"]],
  [/^ℓ = /, ["loss_ = np.array([[-(counted * np.log((p * y).sum(axis=1, keepdims=True))).sum() / n]])"]],
  [/^(\S+) = (.*), 0 \(no target\)$/, ["$1_ = $2 * counted"]],
  [/^(\S+) = (\S+), 0 \(.*\)$/, ["$1_ = np.where(np.isinf(M), 0, $2)"]],
];

const word = /d?\p{L}\u0302?\p{L}*(?:_\{[^}]*\}|_\w+)?'?|\^T|\^2|[\d.]+|\S/gu;
const pythonSigns = { "∘": " * ", "+": " + ", "-": " - ", "/": " / ", "(": "(", ")": ")", "^T": ".T", "^2": " ** 2", "√": "np.sqrt" };
const greek = { ℓ: "loss", μ: "mu", σ: "sigma", ε: "epsilon", "x̂": "x_hat" };

// dX_in,norm has another than in addresses.
const pythonName = (symbol) => greek[symbol] ?? keyOf(symbol).replaceAll(",", "_").replace("'", "_slope");
const isPythonName = (name) => /^[A-Za-z_]\w*$/.test(name);

// "dQ = dZ K" is dQ_ = dZ @ K; what stands side by side is a product of matrices.
function pythonOf(text) {
  let made = "";
  let isAfterFactor = false;
  let isRoot = false;
  for (const [token] of text.matchAll(word)) {
    const isName = /^[\p{L}\d]/u.test(token);
    if (isAfterFactor && (isName || token === "√" || (token === "(" && !/\w$/.test(made)))) made += " @ ";
    made += isName ? (isRoot ? `(${pythonName(token)})` : pythonName(token)) : (pythonSigns[token] ?? token);
    isRoot = token === "√";
    isAfterFactor = isName || [")", "^T", "^2"].includes(token);
  }
  return made;
}

function linesOf(rule) {
  const text = rule.replace(/ \[[tv]\]/g, "").replace(" [0]", "[[0]]");
  const found = special.find(([pattern]) => pattern.test(text));
  if (!found) return [text.replace(/^(.*?) = (.*)$/, (_, made, of) => `${pythonName(made)}_ = ${pythonOf(of)}`)];
  const [pattern, lines] = found;
  const [, ...parts] = pattern.exec(text);
  const written = parts.map((part) => pythonOf(part));
  return lines.map((line) => line.replace(/\$(\d)/g, (_, i) => written[i - 1]));
}

const namesIn = (line) => line.match(/(?<![\w.'])[A-Za-z]\w*/g) ?? [];

// What the names in the rules of a step stand for: a matrix of the step, or of another, perhaps turned as Kᵀ.
class Names {
  constructor(lesson) {
    this.lesson = lesson;
    this.own = matricesOf(lesson, lesson.step);
    this.constants = constantsOf(lesson);
    this.matrices = new Set(this.own.values()); // those that the script needs
    this.lines = new Set(); // and what it defines before the rules
  }

  // {matrix, isTurned}, or undefined.
  find(name) {
    const matrix = this.own.get(name);
    const turned = this.own.get(`${name}t`);
    const found = matrix ?? turned ?? this.elsewhere(name);
    return found && { matrix: found, isTurned: !matrix && Boolean(turned) };
  }

  elsewhere(name) {
    const { lesson } = this;
    const isHere = ({ symbol, gradientPart }) =>
      [symbol, gradientPart?.symbol ?? `d${symbol}`].some((each) => pythonName(each) === name);
    const step = lesson.chapters.steps.find((each) => partsOf(each).some(isHere));
    return step && matricesOf(lesson, step).get(name);
  }

  // Whether the script can have all that a line of Python reads.
  needs(line) {
    const names = namesIn(line).filter((name) => !pythonWords.includes(name));
    const isKnown = (name) => name in helpers || name in this.constants || name === "x_hat" || this.find(name);
    if (!names.every(isKnown)) return false;
    for (const name of names) {
      const found = this.find(name);
      if (found) this.matrices.add(found.matrix);
      else if (name !== "x_hat") this.define(helpers[name] ?? this.constants[name]);
    }
    return true;
  }

  define(line) {
    if (this.lines.has(line)) return;
    const [name, of] = line.split(" = ");
    for (const each of namesIn(of)) if (each !== name && (each in helpers || each in this.constants)) this.needs(each);
    for (const each of namesIn(of)) if (this.own.has(each)) this.matrices.add(this.own.get(each));
    this.lines.add(line);
  }

  // K is Kt.T where the step shows the transpose.
  turned(line) {
    return line.replace(/(?<![\w.'])[A-Za-z]\w*(\.T)?/g, (all, isTurned) => {
      const name = isTurned ? all.slice(0, -2) : all;
      return this.find(name)?.isTurned ? `${name}t${isTurned ? "" : ".T"}` : all;
    });
  }
}

const pythonWords = ["np", "lambda", "x", "z", "axis", "keepdims", "True", "abs", "pairs", "turn", "complexes", "pairwise", "len"];

const matricesOf = (lesson, step) =>
  new Map(
    lesson
      .matrices(step)
      .flatMap(({ forward, backward }) => [forward, backward])
      .filter((matrix) => matrix && isPythonName(pythonName(matrix.symbol)))
      .map((matrix) => [pythonName(matrix.symbol), matrix]),
  );

// {names, lines, compared}: what is computed, and the names of the matrices that it makes again.
function computedIn(lesson) {
  const { step } = lesson;
  const names = new Names(lesson);
  const compared = [];
  // What is called x̂ in a rule has a rule of its own, which stands first.
  const rules = [...step.forward, ...step.backward].sort((a, b) => Number(b.startsWith("x̂")) - Number(a.startsWith("x̂")));
  const lines = rules.flatMap((rule) => {
    const written = linesOf(rule);
    const [made, of] = written.at(-1).split("_ = ");
    const { matrix, isTurned } = names.find(made) ?? {};
    const isOwn = made === "x_hat" || (matrix && names.own.has(pythonName(matrix.symbol)));
    if (!isOwn || !/^[ -~]*$/.test(written.join("")) || !names.needs(of)) return [];
    if (made === "x_hat") return [`x_hat = ${of}`];
    compared.push(pythonName(matrix.symbol));
    const line = isTurned ? `${made}t_ = (${names.turned(of)}).T` : `${made}_ = ${names.turned(of)}`;
    return [...written.slice(0, -1), line];
  });
  return { names, lines, compared };
}

export function numpyScript(lesson) {
  const { step, layer } = lesson;
  const { names, lines, compared } = computedIn(lesson);
  return [
    `# ${lesson.document.meta.name.replace(/\s+/g, " ")}: ${layer.path}, head ${lesson.state.head}`,
    `# ${[...step.forward, ...step.backward].join("; ")}`,
    "import numpy as np",
    "",
    'np.seterr(invalid="ignore")',
    "",
    ...[...names.matrices].map(arrayOf),
    "",
    ...names.lines,
    ...lines,
    "",
    "# the largest difference from what the page shows",
    ...compared.map((name) => `print("${name}", np.abs(np.nan_to_num(${name}_ - ${name})).max())`),
    "",
  ].join("\n");
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
