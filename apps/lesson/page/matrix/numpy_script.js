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
  colmean: "colmean = lambda x: x.mean(axis=0, keepdims=True)",
  softmax: "softmax = lambda x: exp(x - rowmax(x)) / rowsum(exp(x - rowmax(x)))",
  relu: "relu = lambda x: np.maximum(x, 0)",
  relu_slope: "relu_slope = lambda x: x > 0",
  sigmoid: "sigmoid = lambda x: 1 / (1 + np.exp(-x))",
  silu: "silu = lambda x: x * sigmoid(x)",
  silu_slope: "silu_slope = lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x)))",
  normal: "normal = np.vectorize(lambda x: __import__('math').erfc(-x / np.sqrt(2)) / 2)",
  gelu: "gelu = lambda x: x * normal(x)",
  tanh: "tanh = np.tanh",
  gelu_u: "gelu_u = lambda x: np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)",
  gelu_tanh: "gelu_tanh = lambda x: x * (1 + tanh(gelu_u(x))) / 2",
  gelu_tanh_slope:
    "gelu_tanh_slope = lambda x: (1 + tanh(gelu_u(x)) + x * (1 - tanh(gelu_u(x)) ** 2) * gelu_u_slope(x)) / 2",
  gelu_u_slope: "gelu_u_slope = lambda x: np.sqrt(2 / np.pi) * (1 + 0.134145 * x * x)",
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
  found.T = `T = ${anatomy.shape(layer.weights)[2]}`;
  found.base = `base = ${anatomy.maker(layer.q)?.attributes.base ?? 10000}`;
  const tokens = indexOfTokens(lesson);
  if (tokens !== undefined) {
    found.token = `token = [${tape.values[tokens].data.join(", ")}]`;
    found.one_hot = "one_hot = np.eye(len(W_E))[token]";
  }
  const { targets = [0] } = lesson.document.meta.texts ?? {};
  const counted = targets.map((target) => (target === null ? 0 : 1));
  found.counted = `counted = np.array([${counted.join(", ")}])[:, None]`;
  found.n = "n = counted.sum()";
  found.i = "i = np.arange(len(S_m))[:, None]";
  found.j = "j = np.arange(S_m.shape[1])";
  found.M = `M = np.where(${hiddenBy(step.forward.find((rule) => rule.startsWith("M_")) ?? "()")}, -np.inf, 0)`;
  return found;
}

// M_ij = −∞ (j > i ∨ |i − j| > 2)
function hiddenBy(rule) {
  const [, conditions] = /\((.*)\)$/.exec(rule);
  return conditions.split(" ∨ ").map((each) => `(${each.replace(/\|(.*)\|/, "abs($1)")})`).join(" | ");
}

// Rules that are no arithmetic of whole matrices: [pattern, lines].
const turn = [
  "pairs = np.arange($2.shape[1] // 2) % (d_k // 2)",
  "turn = np.exp(1j * np.outer(np.arange(len($2)), base ** (-2 * pairs / d_k)))",
  "complexes = lambda x: x[:, 0::2] + 1j * x[:, 1::2]",
  "pairwise = lambda z: np.stack([z.real, z.imag], axis=2).reshape(len(z), -1)",
];
/** @type {[RegExp, string[]][]} */
const special = [
  [/^(\S+) = (\S+) \[token_t\]$/, ["$1 = $2[token]"]],
  [/^(\S+) = Σ_\{t: token_t = v\} (\S+)(.*)$/, ["$1 = one_hot.T @ $2$3"]],
  [/^(\S+) = R_t (\S+)$/, [...turn, "$1 = pairwise(complexes($2) * turn)"]],
  [/^(\S+) = R_t\^T (\S+)$/, [...turn, "$1 = pairwise(complexes($2) * turn.conj())"]],
  [/^dO_h = dC \[h\]$/, ["dO = dC[:, band]"]],
  [/^ℓ = /, ["loss = np.array([[-np.log((p * y).sum(axis=1, keepdims=True) + 1 - counted).sum() / n]])"]],
  [/^dℓ = 1$/, ["dloss = np.ones((1, 1))"]],
  [/^dℓ_t = dℓ \/ n/, ["dloss_t = dloss / n * np.ones(counted.shape)"]],
  [/^(\S+) = dh \/ T$/, ["$1 = np.repeat(dh / T, T, axis=0)"]],
  [/^(\S+) = (.*), 0 \(no target\)$/, ["$1 = $2 * counted"]],
  [/^(\S+) = (\S+), 0 \(.*\)$/, ["$1 = np.where(np.isinf(M), 0, $2)"]],
];

// Which heads an index goes over: all, those of the group that shares keys, or one of each group.
const listsOfHeads = { h: "heads", "{h ∈ g}": "heads_of_group", g: "groups" };

// Rows of a matrix, and lists of a matrix of several heads: "Σ_h dX_{q,h}" is sum(dX_q_h_heads).
const inPython = (rule) =>
  rule
    .replace(/ \[[tv]\]/g, "")
    .replace(" [0]", "[[0]]")
    .replace(/ \[t ≥ 1\]/g, "[1:]")
    .replace(/Σ_(\{h ∈ g\}|[hg]) (\S+)/g, (_, index, symbol) => `sum(${pythonName(symbol)}_${listsOfHeads[index]})`)
    .replace(/\[(\S+)_0 \S+ …\]/, "np.hstack($1_heads)")
    .replace(/\[(\S+)_\{g,0\} \S+ …\]/, "np.hstack($1_g_groups)");

const word = /d?\p{L}\u0302?\p{L}*(?:_\{[^}]*\}|_\w+)?'?|\^T|\^2|[\d.]+|\S/gu;
const pythonSigns = { "∘": " * ", "+": " + ", "-": " - ", "/": " / ", "(": "(", ")": ")", "^T": ".T", "^2": " ** 2", "√": "np.sqrt" };
const greek = { μ: "mu", σ: "sigma", ε: "epsilon", "x̂": "x_hat", "dx̂": "dx_hat" };

// dX_in,norm has another than in addresses.
const pythonName = (symbol) =>
  greek[symbol] ?? keyOf(symbol).replace("ℓ", "loss").replace(/[,∘−]/g, "_").replace("'", "_slope");

// "dQ = dZ K" is dQ_ = dZ @ K; what stands side by side is a product of matrices.
function pythonOf(text) {
  let made = "";
  let isAfterFactor = false;
  let isRoot = false;
  for (const [token] of text.matchAll(word)) {
    const isName = /^[\p{L}\d]/u.test(token);
    const times = /(^|[ (])[\d.]+$/.test(made) ? " * " : " @ ";
    if (isAfterFactor && (isName || token === "√" || (token === "(" && !/\w$/.test(made)))) made += times;
    made += isName ? (isRoot ? `(${pythonName(token)})` : pythonName(token)) : (pythonSigns[token] ?? token);
    isRoot = token === "√";
    isAfterFactor = isName || [")", "^T", "^2"].includes(token);
  }
  return made;
}

function linesOf(rule) {
  const text = inPython(rule);
  const found = special.find(([pattern]) => pattern.test(text));
  if (!found) return [text.replace(/^(.*?) = (.*)$/, (_, made, of) => `${pythonOf(made)} = ${pythonOf(of)}`)];
  const [pattern, lines] = found;
  const [, ...parts] = pattern.exec(text);
  const written = parts.map((part) => pythonOf(part));
  return lines.map((line) => line.replace(/\$(\d)/g, (_, i) => written[i - 1]));
}

const namesIn = (line) => line.match(/(?<![\w.'])[A-Za-z]\w*/g) ?? [];

// What the names in the rules of a step stand for: {matrix, isTurned} of this step, of another of this layer, or, of an
// encoder, of another layer; K is there as Kᵀ.
class Names {
  constructor(lesson) {
    this.lesson = lesson;
    this.own = matricesOf(lesson, lesson.step);
    this.constants = constantsOf(lesson);
    this.matrices = new Map(this.own); // those that the script needs
    this.lists = new Map(); // of a matrix in several heads
    this.lines = new Set(); // and what it defines before the rules
    this.others = lesson.layers.map((layer) => lesson.at({ layer, head: 0 }));
    this.inHeads = [];
  }

  find(name) {
    if (this.own.has(name)) return this.own.get(name);
    for (const lesson of [this.lesson, ...(name.includes("_enc") ? this.others : [])]) {
      const step = lesson.chapters.steps.find((each) => shows(each, name));
      if (step) return matricesOf(lesson, step).get(name);
    }
    return undefined;
  }

  // [{matrix, isTurned}] of "dK_heads_of_group", or undefined.
  findInHeads(name) {
    const [, of, list] = /^(.*)_(heads|heads_of_group|groups)$/.exec(name) ?? [];
    if (!list) return undefined;
    const { lesson } = this;
    const size = lesson.heads / lesson.anatomy.shape(lesson.layer.ownK)[2];
    const isSameGroup = (head) => Math.floor(head / size) === Math.floor(lesson.state.head / size);
    const isIn = { heads: () => true, heads_of_group: isSameGroup, groups: (head) => head % size === 0 }[list];
    const heads = Array.from({ length: lesson.heads }, (_, head) => head).filter(isIn);
    const found = heads.map((head) => {
      const names = (this.inHeads[head] ??= new Names(lesson.at({ head })));
      return names.find(of) ?? names.find(of.replace(/_h$/, ""));
    });
    return found.every(Boolean) ? found : undefined;
  }

  // Whether the script can have all that a line of Python reads.
  needs(line) {
    const lines = { ...helpers, ...this.constants, x_hat: null, dx_hat: null };
    for (const name of namesIn(line).filter((each) => !pythonWords.includes(each))) {
      const found = this.find(name);
      const list = found || name in lines ? undefined : this.findInHeads(name);
      if (!found && !list && !(name in lines)) return false;
      if (found) this.matrices.set(name, found);
      else if (list) this.lists.set(name, list);
      else if (lines[name]) this.define(lines[name]);
    }
    return true;
  }

  define(line) {
    if (this.lines.has(line)) return;
    this.needs(line.split(" = ")[1]);
    this.lines.add(line);
  }
}

const namesOf = ({ symbol, gradientPart }) => [symbol, gradientPart?.symbol ?? `d${symbol}`].map(uprightName);
const shows = (step, name) => partsOf(step).some((part) => namesOf(part).includes(name));
const uprightName = (symbol) => pythonName(symbol.replace("^T", ""));

const pythonWords = "np lambda x z axis keepdims True abs pairs turn complexes pairwise len sum".split(" ");

const matricesOf = (lesson, step) =>
  new Map(
    lesson
      .allMatrices(step)
      .map((matrix) => [uprightName(matrix.symbol), { matrix, isTurned: matrix.symbol.endsWith("^T") }]),
  );

// A matrix that is called by what it is made of, as P∘dP.
const rulesOfSymbols = (own) =>
  [...own]
    .map(([name, { matrix }]) => [name, matrix.symbol, matrix.part.ofTargets])
    .filter(([, symbol]) => /[∘-]/.test(symbol))
    .map(([name, symbol, ofTargets]) => `${name} = ${ofTargets ? `(${symbol}), 0 (no target)` : symbol}`);

// {names, lines, compared}: what is computed, and the names of the matrices that it makes again.
function computedIn(lesson) {
  const { step } = lesson;
  const names = new Names(lesson);
  const compared = new Set();
  // What is called x̂ in a rule has a rule of its own, which stands first.
  const isFirst = (rule) => Number(/^d?x̂/.test(rule));
  const rules = [...step.forward, ...step.backward].sort((a, b) => isFirst(b) - isFirst(a));
  const lines = [...rules, ...rulesOfSymbols(names.own)].flatMap((rule) => {
    const written = linesOf(rule);
    const [, made, rows = "", of] = /^(\w+)(\[.*?\])? = (.*)$/.exec(written.at(-1)) ?? [];
    const found = names.find(made);
    const read = [...written.slice(0, -1), of].join("; ");
    const isOnTheWay = ["x_hat", "dx_hat"].includes(made);
    if (!(found || isOnTheWay) || !/^[ -~]*$/.test(read) || !names.needs(read)) return [];
    if (isOnTheWay) return [`${made} = ${of}`];
    names.matrices.set(made, found);
    // Until all rows are made.
    const begin = rows && !compared.has(made) ? [`${made}_ = np.full(${made}.shape, np.inf)`] : [];
    compared.add(made);
    return [...begin, ...written.slice(0, -1), `${made}_${rows} = ${of}`];
  });
  return { names, lines, compared: [...compared] };
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
    ...[...names.matrices].map(([name, found]) => `${name} = ${arrayOf(found)}`),
    ...[...names.lists].map(([name, list]) => `${name} = [${list.map(arrayOf).join(", ")}]`),
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

function arrayOf({ matrix, isTurned }) {
  const { rows, columns } = matrix.grid;
  const line = (row) =>
    Array.from({ length: columns }, (_, column) => pythonNumber(matrix.numberShown(row, column)));
  const lines = Array.from({ length: rows }, (_, row) => `    [${line(row).join(", ")}],`);
  return `np.array([\n${lines.join("\n")}\n])${isTurned ? ".T" : ""}`;
}
