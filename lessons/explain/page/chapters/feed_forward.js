// The feed-forward layer: up, an activation, down.
import { shareThrough } from "./ledgers.js";
import { ofQuantity, partsOfLinear, sequencePart } from "./parts.js";

export const upChapter = {
  id: "up",
  group: "prediction",
  texts: {
    name: ["Feed-forward, up", "前馈：升维"],
    what: ["Each token on its own is mapped to more features.", "每个词元各自映射到更多特征。"],
    why: [
      "Attention moved information between tokens; here each works on what it has got.",
      "注意力在词元间搬运信息，这里各自加工。",
    ],
    questions: [
      {
        ask: ["Does row i of U depend on other tokens?", "U 的第 i 行依赖别的词元吗？"],
        answer: ["Not here: only through row i of what it reads.", "这里不依赖，只通过它读入的第 i 行。"],
      },
    ],
  },
  step: (facts) =>
    linearStep(facts, {
      value: facts.layer.up,
      source: facts.layer.norm === undefined ? "R" : "N",
      letter: "1",
      symbol: "U",
    }),
};

const flatBelow = ["relu", "gelu", "silu"];

export const activationChapter = {
  id: "activation",
  group: "prediction",
  hasExercises: true,
  texts: {
    name: ["Activation", "激活函数"],
    what: ["Every number alone is bent by one function.", "每个数单独经过一个非线性函数。"],
    why: ["Without it two linear maps would be one.", "没有它，两个线性变换就等于一个。"],
    questions: [
      {
        ask: ["Where does little gradient pass?", "哪里几乎不通过梯度？"],
        answer: [
          "Where U is far below 0: the function is flat there.",
          "U 远小于 0 的地方：函数是平的。",
        ],
        holds: ({ anatomy, layer }) => flatBelow.includes(anatomy.maker(layer.hidden)?.op),
      },
    ],
  },
  step: activationStep,
};

export const downChapter = {
  id: "down",
  group: "prediction",
  texts: {
    name: ["Feed-forward, down", "前馈：降维"],
    what: ["Back to the width of the model.", "回到模型的宽度。"],
    why: ["So that it can be added to the residual stream.", "这样才能与残差相加。"],
    questions: [
      {
        ask: ["Which features carry the row?", "哪些特征构成这一行？"],
        answer: ["Choose a cell of F: its largest products.", "选 F 的一个单元格，看最大的乘积。"],
      },
    ],
  },
  step: (facts) =>
    linearStep(facts, { value: facts.layer.feedForward, source: "G", letter: "2", symbol: "F" }),
};

function linearStep({ anatomy, queries }, { value, source, letter, symbol, family = "f" }) {
  const linear = value === undefined ? null : anatomy.linearBehind(value);
  if (!linear) return null;
  const top = partsOfLinear(linear, `_${letter}`);
  const { scope } = anatomy.maker(value);
  const way = { scope, path: letter, symbol: source, x: linear.x, rowNames: queries };
  const share = shareThrough(anatomy, way); // where a residual reads the same x
  const left = sequencePart(source, linear.x, queries, family);
  return {
    layout: {
      kind: "product",
      left: share ? { ...left, gradientPart: share } : left,
      top,
      result: sequencePart(symbol, value, queries, family),
    },
    forward: `${symbol} = ${source} W_${letter}${top.length > 1 ? ` + b_${letter}` : ""}`,
    backward: [
      `dW_${letter} = ${source}^T d${symbol}`,
      `${share?.symbol ?? `d${source}`} = d${symbol} W_${letter}^T`,
    ],
  };
}

function activationStep({ anatomy, layer, queries }) {
  const { up, hidden } = layer;
  const activation = hidden === undefined ? null : anatomy.maker(hidden);
  if (up === undefined || activation?.inputs.length !== 1) return null;
  return {
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
}
