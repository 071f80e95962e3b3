// Queries, keys and values: linear maps of a sequence, turned where positions are rotary, cut into heads.
import { shareSymbol, shareThrough } from "./ledgers.js";
import { ofQuantity, ownValue, partsOfLinear, sequencePart } from "./parts.js";
import { isZero } from "../lesson/premises.js";

const projections = {
  query: { id: "query", symbol: "Q", letter: "q" },
  key: { id: "key", symbol: "K", letter: "k" },
  value: { id: "value", symbol: "V", letter: "v" },
};

export const queryChapter = {
  id: "query",
  group: "projections",
  hasExercises: true,
  texts: {
    name: ["Queries: X → Q", "查询：X → Q"],
    what: [
      "Each row of X times W_q is what this token asks for.",
      "X 的每一行乘 W_q，就是这个词元要查询的东西。",
    ],
    why: [
      "A learned linear map lets the model choose in which respect tokens are compared.",
      "可以训练的线性变换让模型选择从哪个角度比较词元（提升拟合能力）。",
    ],
    questions: [
      {
        ask: ["Why is dW_q a product of X and dQ?", "为什么 dW_q 是 X 与 dQ 的乘积？"],
        answer: [
          "Every token used the same W_q: each adds x times its own dq.",
          "每个词元都用同一个 W_q：各自贡献 x 乘它的 dq，再相加。",
        ],
        holds: ({ step }) => !step.sharesWeight,
      },
    ],
  },
  step: (facts) => projectionSteps(facts, projections.query, queryChapter.texts),
};

export const keyChapter = {
  id: "key",
  group: "projections",
  texts: {
    name: ["Keys: X → K", "键：X → K"],
    what: [
      "Each row of X times W_k is what this token offers to be found by.",
      "X 的每一行乘 W_k，是这个词元供别人查找的标签。",
    ],
    why: [
      "Q and K apart: who asks need not be who answers, so QKᵀ is not symmetric.",
      "Q 与 K 分开：提问的不必是回答的，所以 QKᵀ 不对称。",
    ],
    questions: [
      {
        ask: ["Why is db_k zero?", "为什么 db_k 是零？"],
        answer: [
          "It adds the same to all scores of a query, and softmax does not see a common shift.",
          "它给一个查询的所有得分加上同一个数，而 softmax 看不到整体平移。",
        ],
        holds: (lesson) => isZero(lesson, "db_k"),
      },
      {
        ask: ["Who adds to the gradient of one key?", "一个键的梯度来自谁？"],
        answer: ["Every query that sees it: dK = dZᵀ Q.", "每个看得见它的查询：dK = dZᵀ Q。"],
      },
    ],
  },
  step: (facts) => projectionSteps(facts, projections.key, keyChapter.texts),
};

export const valueChapter = {
  id: "value",
  group: "projections",
  texts: {
    name: ["Values: X → V", "值：X → V"],
    what: [
      "Each row of X times W_v is what this token gives when it is attended to.",
      "X 的每一行乘 W_v，是这个词元被注意时给出的内容。",
    ],
    why: [
      "What is found by (K) and what is given (V) may differ.",
      "用来查找的（K）和给出的（V）可以不同。",
    ],
    questions: [
      {
        ask: [
          "Which of Q, K and V gets its gradient without softmax?",
          "Q、K、V 中哪一个的梯度不经过 softmax？",
        ],
        answer: ["V: dV = Pᵀ dO.", "V：dV = Pᵀ dO。"],
      },
    ],
  },
  step: (facts) => projectionSteps(facts, projections.value, valueChapter.texts),
};

// Which of queries, keys and values a weight makes.
function usesOf({ anatomy, layer }, weight) {
  return Object.values(projections).filter(
    ({ letter }) => anatomy.linearBehind(ownValue(layer, letter))?.weight === weight,
  );
}

function projectionSteps(facts, { id, symbol: plainSymbol, letter }, texts) {
  const { anatomy, layer, queries, keys } = facts;
  const value = ownValue(layer, letter);
  const isRepeated = value !== layer[letter];
  const symbol = isRepeated ? `${plainSymbol}_g` : plainSymbol;
  const narrow = anatomy.narrowLinearBehind(value);
  const linear = narrow ?? anatomy.linearBehind(value);
  const names = letter === "q" ? queries : keys;
  const source = layer.isCross && letter !== "q" ? "X_{enc}" : "X";
  const result = { symbol, value, look: "head", family: letter, rowNames: names };
  if (!linear) return [];
  const cut = anatomy.shape(value)[3];
  const rotated = linear.output !== value && anatomy.maker(value)?.op === "rotary";
  const before = rotated
    ? { ...result, symbol: `${symbol}_0`, value: unrotated(anatomy, value) }
    : result;
  const rotation = rotated ? [rotationStep(id, before, result)] : [];
  if (narrow) return [narrowStep(facts, { id, letter, linear, result: before, texts }), ...rotation];
  const top = partsOfLinear(linear, `_${letter}`, { cut });
  const hasBias = top.length > 1;
  const left = sequencePart(source, linear.x, names);
  const share = shareThrough(anatomy, {
    scope: `${layer.path}.${id}`,
    path: letter,
    symbol: source,
    x: linear.x,
    rowNames: names,
  });
  const whole = share?.symbol ?? `d${source}`;
  const headShare = {
    ...left,
    symbol: shareSymbol(source, `${letter},h`),
    quantity: "stream",
    derived: "headShare",
    gradient: { ...before, value: anatomy.gradient(before.value), of: before.value },
    weight: top[0],
  };
  const hasHeads = anatomy.shape(value)[2] > 1 && headShare.gradient.value !== undefined;
  const gradientPart = hasHeads ? headShare : share;
  const back = gradientPart?.symbol ?? whole;
  const uses = usesOf(facts, linear.weight).map((use) =>
    use.letter === letter ? before.symbol : use.symbol,
  );
  const ofUses = (text) => uses.map(text).join(" + ");
  const step = {
    id,
    texts: uses.length > 1 ? { ...texts, why: whyShared } : texts,
    sharesWeight: uses.length > 1,
    layout: {
      kind: "product",
      left: gradientPart ? { ...left, gradientPart } : left,
      top,
      result: before,
    },
    forward: `${before.symbol} = ${source} W_${letter}${hasBias ? ` + b_${letter}` : ""}`,
    backward: [
      `dW_${letter} = ${ofUses((use) => `${source}^T d${use}`)}`,
      ...(hasBias ? [`db_${letter} = ${ofUses((use) => `colsum(d${use})`)}`] : []),
      `${back} = d${before.symbol} W_${letter}^T`,
      ...(hasHeads ? [`${whole} = Σ_h ${back}`] : []),
      ...(isRepeated ? [`d${symbol} = Σ_h d${plainSymbol}_h`] : []),
    ],
    invariants: letter === "k" && uses.length === 1 ? ["key_bias"] : undefined,
  };
  return [step, ...rotation];
}

const whyNarrow = [
  "Each head maps its own columns of X, which is fast and small; no head sees those of another.",
  "每个头只映射 X 中属于自己的几列，又快又小；谁也看不到别的头的列。",
];

// Q = X_h W_q, with the columns X_h of X that are of this head.
function narrowStep({ anatomy, layer, queries }, { id, letter, linear, result, texts }) {
  const { x, weight, bias } = linear;
  const cut = anatomy.shape(weight)[1];
  const source = layer.isCross && letter !== "q" ? "X_{enc,h}" : "X_{h}";
  const way = { scope: `${layer.path}.${id}`, path: letter, symbol: source, x };
  const left = { ...sequencePart(source, x, result.rowNames ?? queries), cut };
  const share = shareThrough(anatomy, { ...way, rowNames: left.rowNames });
  const back = share?.symbol ?? `d${source}`;
  const top = [
    { symbol: `W_${letter}`, value: weight, look: "mapOfThree", family: "w" },
    { symbol: `b_${letter}`, value: bias, look: "rows", family: "w", cut: anatomy.shape(weight)[2] },
  ].filter(({ value }) => value !== undefined);
  const to = result.symbol;
  return {
    id,
    texts: { ...texts, why: whyNarrow },
    layout: {
      kind: "product",
      left: share ? { ...left, gradientPart: { ...share, cut } } : left,
      top,
      result,
    },
    forward: `${to} = ${source} W_${letter}${bias === undefined ? "" : ` + b_${letter}`}`,
    backward: [
      `dW_${letter} = ${source}^T d${to}`,
      ...(bias === undefined ? [] : [`db_${letter} = colsum(d${to})`]),
      `${back} = d${to} W_${letter}^T`,
    ],
  };
}

const whyShared = [
  "Here one map makes more than one of Q, K and V: its gradient is the sum of theirs.",
  "这里一个映射产生 Q、K、V 中的几个：它的梯度是它们传回的梯度之和。",
];

function unrotated(anatomy, value) {
  return anatomy.adopt(anatomy.maker(value).inputs[0]);
}

export const rotationTexts = {
  name: ["Rotary position", "旋转位置编码"],
  what: [
    "Pairs of features are turned by an angle that grows with the position.",
    "特征两两一组，按与位置成正比的角度旋转。",
  ],
  why: [
    "The inner product of two turned rows knows only how far apart they are.",
    "两个旋转后的行的内积只取决于它们的距离。",
  ],
  questions: [
    {
      ask: ["How does the gradient go back through a rotation?", "梯度如何穿过旋转？"],
      answer: ["It is turned back by the same angle: Rᵀ.", "按同样的角度转回来：Rᵀ。"],
    },
  ],
};

function rotationStep(id, before, after) {
  const [english, chinese] = rotationTexts.name;
  const name = [`${english}: ${after.symbol}`, `${chinese}：${after.symbol}`];
  return {
    id: `${id}_rotation`,
    texts: { ...rotationTexts, name },
    hasExercises: false,
    layout: { kind: "stack", parts: ofQuantity("rotated", [before, after]) },
    forward: `${after.symbol}_t = R_t ${before.symbol}_t`,
    backward: [`d${before.symbol}_t = R_t^T d${after.symbol}_t`],
  };
}

export const headsChapter = {
  id: "heads",
  group: "projections",
  texts: {
    name: ["Cut into heads", "切成多头"],
    what: [
      "The columns of Q, K and V are cut into bands; each band is a head.",
      "Q、K、V 按列（通道）切成几段，每一段是一个头。",
    ],
    why: [
      "Each head compares tokens in its own subspace, and finds its own relation.",
      "每个头在自己的子空间里比较词元，捕捉不同的相关性。",
    ],
    questions: [
      {
        ask: [
          "Does one head's gradient reach another's band here?",
          "一个头的梯度会到达另一个头的那一段吗？",
        ],
        answer: ["No: bands only meet at W_o and in X.", "不会：各段只在 W_o 处和 X 中相遇。"],
        holds: hasOwnKeys,
      },
      {
        ask: ["What gradient does a band of K get that several heads share?", "几个头共用的那一段 K 得到什么梯度？"],
        answer: ["The sum of what comes back from each of these heads.", "这几个头传回的梯度之和。"],
        holds: (lesson) => !hasOwnKeys(lesson),
      },
    ],
  },
  step: headsStep,
};

// No key is shared by several heads.
function hasOwnKeys({ anatomy, layer }) {
  return anatomy.shape(layer.ownK)[2] === anatomy.shape(layer.q)[2];
}

function headsStep({ anatomy, layer, queries, keys }) {
  const all = Object.values(projections).map(({ symbol, letter }) => ({
    symbol: `${symbol}_{all}`,
    value: ownValue(layer, letter),
    look: "heads",
    band: anatomy.shape(layer[letter])[3],
    family: letter,
    rowNames: letter === "q" ? queries : keys,
  }));
  return {
    layout: { kind: "stack", parts: all },
    forward: "Q_{all} = [Q_0 Q_1 …]",
    backward: ["dQ_{all} = [dQ_0 dQ_1 …]"],
  };
}
