// The steps before and after the attention layer: embedding, norms, residuals, feed-forward, loss.

import { nameNormParts } from "./norm_names.js";
import { ledgerSteps, shareThrough } from "./steps_ledger.js";
import { ofQuantity, sequencePart } from "./parts.js";

export function stepsBeforeLayer(facts) {
  return [embeddingStep(facts), normStep(facts)].filter(Boolean);
}

export function stepsAfterLayer(facts) {
  return [
    ...ledgerSteps(facts),
    residualStep(facts),
    ...feedForwardSteps(facts),
    finalNormStep(facts),
    logitsStep(facts),
    lossStep(facts),
  ].filter(Boolean);
}

function embeddingStep({ anatomy, layer, queries, document }) {
  const embedded = anatomy.at(`${layer.stack}embedded`);
  const input = anatomy.at(`${layer.stack}blocks.0.input`);
  const positions = anatomy.at(`${layer.stack}positions`);
  if (embedded === undefined) return null;
  const parts = [sequencePart("A", embedded, queries)];
  const hasSum = positions !== undefined && input !== undefined && input !== embedded;
  if (hasSum) {
    parts.push(
      sequencePart(
        "e",
        positions,
        queries.map((_, i) => String(i)),
        "e",
      ),
    );
    parts.push(sequencePart("X_{in}", input, queries));
  }
  const table = anatomy.at("token_embedding.weight");
  if (table !== undefined) parts.unshift(sequencePart("T", table, document.vocabulary, "w"));
  const made = [...patchParts(anatomy), ...ofQuantity("stream", parts)];
  const [image, classToken] = ["patch_embedding.weight", "class_token"].map((name) => anatomy.at(name));
  const first = classToken === undefined ? [] : ["A_0 = c"];
  const tokens = image === undefined ? "A_t = T [token_t]" : "A_t = W_e patch_t + b_e";
  return {
    id: "embedding",
    group: "before",
    picture: anatomy.at("pixels") !== undefined && layer.stack !== "decoder.",
    layout: { kind: "stack", parts: made },
    forward: [...first, tokens, ...(hasSum ? ["X_{in} = A + e"] : [])].join(", "),
    backward: [
      ...(hasSum ? ["dA = dX_{in}", "de = dX_{in}"] : []),
      ...(classToken === undefined ? [] : ["dc = dA_0"]),
      image === undefined ? "dT [token] ← Σ dA_t" : "dW_e = Σ dA_t patch_t^T",
    ],
  };
}

// What makes vectors of a picture's patches, and the class token before these or before tokens.
function patchParts(anatomy) {
  const weight = anatomy.at("patch_embedding.weight");
  const rows = [
    ["b_e", anatomy.at("patch_embedding.bias")],
    ["c", anatomy.at("class_token")],
  ];
  const isThere = ({ value }) => value !== undefined;
  const vectors = rows.map(([symbol, value]) => ({ symbol, value, look: "rows", family: "w" }));
  return [sequencePart("W_e", weight, null, "w"), ...vectors].filter(isThere);
}

// x, weight, bias of a layer norm or RMS norm.
function normParts(anatomy, value) {
  const op = anatomy.maker(value);
  if (!op || !/norm$/.test(op.op)) return null;
  const [x, weight, bias] = op.inputs;
  return { op, x, weight, bias, kind: op.op, scope: op.scope, epsilon: op.attributes.epsilon };
}

function normStepOf({ anatomy, queries }, { id, value, from, to, group, letter = "" }) {
  const norm = value === undefined ? null : normParts(anatomy, value);
  if (!norm) return null;
  const isLayerNorm = norm.kind === "layer_norm";
  anatomy.adopt(norm.x); // after a sum that nobody named, where norms come last
  nameNormParts(anatomy, norm.op, anatomy.gradient(value));
  const input = sequencePart(from, norm.x, queries);
  const way = { scope: norm.scope, path: "norm", symbol: from, x: norm.x, rowNames: queries };
  const share = shareThrough(anatomy, way);
  const back = share?.symbol ?? `d${from}`;
  const parts = [
    share ? { ...input, gradientPart: share } : input,
    { symbol: `g${letter}`, value: norm.weight, look: "rows", family: "w" },
    norm.bias !== undefined && {
      symbol: `b${letter}`,
      value: norm.bias,
      look: "rows",
      family: "w",
    },
    sequencePart(to, value, queries),
  ].filter(Boolean);
  return {
    id,
    texts: isLayerNorm ? "norm" : "rms_norm",
    group,
    norm: { from, to, letter, epsilon: norm.epsilon, isLayerNorm },
    layout: { kind: "stack", parts },
    forward: isLayerNorm
      ? `${to} = g${letter} ∘ frac{${from} - μ}{σ} + b${letter}`
      : `${to} = g${letter} ∘ frac{${from}}{rms(${from})}`,
    backward: isLayerNorm
      ? [`${back} = frac{1}{σ} (g ∘ d${to} - mean - x̂ ∘ mean(x̂ ∘ g ∘ d${to}))`]
      : [`${back} = frac{1}{rms} (g ∘ d${to} - x̂ ∘ mean(x̂ ∘ g ∘ d${to}))`],
  };
}

function normStep(facts) {
  const { layer } = facts;
  const spec = { id: "norm", value: layer.norm, from: "X_{in}", to: "X", group: "before" };
  return normStepOf(facts, spec);
}

function residualStep({ anatomy, layer, queries }) {
  if (layer.mixed === undefined || layer.input === undefined) return null;
  if (anatomy.op(layer.mixed)?.op !== "add") return null;
  return {
    id: "residual",
    group: "after",
    layout: {
      kind: "stack",
      parts: ofQuantity("stream", [
        sequencePart("X_{in}", layer.input, queries),
        sequencePart("Y", layer.output, queries, "y"),
        sequencePart("R", layer.mixed, queries),
      ]),
    },
    forward: "R = X_{in} + Y",
    backward: ["dY = dR", "dX_{in} ← dR"],
  };
}

function linearStep({ anatomy, queries }, { id, value, source, letter, symbol, family = "f" }) {
  const linear = value === undefined ? null : anatomy.linearBehind(value);
  if (!linear) return null;
  const bias =
    linear.bias === undefined
      ? []
      : [{ symbol: `b_${letter}`, value: linear.bias, look: "rows", family: "w" }];
  const { scope } = anatomy.maker(value);
  const way = { scope, path: letter, symbol: source, x: linear.x, rowNames: queries };
  const share = shareThrough(anatomy, way); // where a residual reads the same x
  const left = sequencePart(source, linear.x, queries, family);
  return {
    id,
    group: "after",
    layout: {
      kind: "product",
      left: share ? { ...left, gradientPart: share } : left,
      top: [{ symbol: `W_${letter}`, value: linear.weight, look: "weight", family: "w" }, ...bias],
      result: sequencePart(symbol, value, queries, family),
    },
    forward: `${symbol} = ${source} W_${letter}${bias.length > 0 ? ` + b_${letter}` : ""}`,
    backward: [
      `dW_${letter} = ${source}^T d${symbol}`,
      `${share?.symbol ?? `d${source}`} = d${symbol} W_${letter}^T`,
    ],
  };
}

function feedForwardSteps(facts) {
  const { anatomy, layer, queries } = facts;
  const { up, hidden, feedForward, blockOutput, feedForwardNorm } = layer;
  const norm = {
    id: "second_norm",
    value: feedForwardNorm,
    from: "R",
    to: "N",
    group: "after",
    letter: "_n",
  };
  const activation = hidden === undefined ? null : anatomy.maker(hidden);
  const activationStep = up !== undefined &&
    activation?.inputs.length === 1 && {
      id: "activation",
      group: "after",
      layout: {
        kind: "stack",
        parts: ofQuantity("activation", [
          sequencePart("U", up, queries, "f"),
          sequencePart("G", hidden, queries, "f"),
        ]),
      },
      forward: `G = ${activation.op}(U)`,
      backward: [`dU = dG ∘ ${activation.op}'(U)`],
    };
  const isAdd = blockOutput !== undefined && anatomy.op(blockOutput)?.op === "add";
  const residual = isAdd && {
    id: "second_residual",
    group: "after",
    layout: {
      kind: "stack",
      parts: ofQuantity("stream", [
        sequencePart("R", anatomy.op(blockOutput).inputs[0], queries),
        sequencePart("F", feedForward, queries, "f"),
        sequencePart("X_{out}", blockOutput, queries),
      ]),
    },
    forward: "X_{out} = R + F",
    backward: ["dF = dX_{out}", "dR ← dX_{out}"],
  };
  return [
    normStepOf(facts, norm),
    linearStep(facts, { id: "up", value: up, source: "N", letter: "1", symbol: "U" }),
    activationStep,
    linearStep(facts, { id: "down", value: feedForward, source: "G", letter: "2", symbol: "F" }),
    residual,
  ].filter(Boolean);
}

const isLastStack = ({ layer }) => layer.stack !== "encoder.";

function finalNormStep(facts) {
  const { anatomy, layer } = facts;
  const value = anatomy.at(`${layer.stack}output`);
  const spec = { id: "final_norm", value, from: "X_{out}", to: "H", group: "after", letter: "_h" };
  return normStepOf(facts, spec);
}

// A classifier has one row of logits, for the picture.
const logitRows = ({ anatomy, queries }, logits) =>
  anatomy.shape(logits).reduce((size, n) => size * n, 1) ===
  anatomy.shape(logits)[anatomy.shape(logits).length - 1]
    ? null
    : queries;

function logitsStep(facts) {
  const { anatomy, document } = facts;
  const logits = anatomy.at("logits");
  const linear = logits === undefined ? null : anatomy.linearBehind(logits);
  if (!linear || !isLastStack(facts)) return null;
  const rowNames = logitRows(facts, logits);
  anatomy.adopt(linear.x);
  const bias =
    linear.bias === undefined
      ? []
      : [{ symbol: "b", value: linear.bias, look: "rows", family: "w" }];
  return {
    id: "logits",
    group: "after",
    layout: {
      kind: "product",
      left: sequencePart("H", linear.x, rowNames),
      top: [{ symbol: "W", value: linear.weight, look: "weight", family: "w" }, ...bias].map(
        (part) => ({ ...part, columnNames: document.vocabulary }),
      ),
      result: {
        ...sequencePart("logits", logits, rowNames, "p"),
        columnNames: document.vocabulary,
      },
    },
    forward: `logits = H W${bias.length > 0 ? " + b" : ""}`,
    backward: ["dW = H^T dlogits", "dH = dlogits W^T"],
  };
}

function lossStep(facts) {
  const { anatomy, document } = facts;
  const logits = anatomy.at("logits");
  const loss = anatomy.at("loss");
  const op = anatomy.program.ops.find((each) => each.op === "cross_entropy");
  if (logits === undefined || loss === undefined || !op || !isLastStack(facts)) return null;
  const rowNames = logitRows(facts, logits);
  const part = {
    ...sequencePart("logits", logits, rowNames, "p"),
    columnNames: document.vocabulary,
  };
  const losses = anatomy.adopt(op.output);
  const made = (name) => anatomy.program.ops.find((o) => o.backward_of === op.id && o.op === name);
  const [shares, wanted, apart] = ["softmax", "one_hot", "sub"].map(made);
  const inner = (symbol, { output }, hue = "signed") => ({
    ...part,
    symbol,
    hue,
    quantity: "probability",
    value: anatomy.adopt(output),
    noGradient: true,
  });
  const within =
    shares && wanted && apart
      ? [
          { ...inner("p", shares, "share"), gradientPart: inner("p-y", apart) },
          inner("y", wanted, "share"),
        ]
      : [];
  return {
    id: "loss",
    group: "after",
    layout: {
      kind: "stack",
      parts: [
        part,
        ...within,
        { symbol: "ℓ_t", value: losses, look: "column", family: "p", rowNames },
        { symbol: "ℓ", value: loss, look: "rows", family: "p" },
      ],
    },
    forward: "p = softmax(logits), ℓ = frac{1}{N} Σ -log p_{target}",
    backward: ["dlogits = frac{1}{N} (p - y)"],
    invariants: ["rows_of_logits"],
  };
}
