// What is said at the steps of attention: [English, 中文], with the terms of the lecture notes.
export const attentionTexts = {
  query: {
    name: ["Queries: X → Q", "查询：X → Q"],
    what: [
      "Each row of X times W_q is what this token asks for.",
      "X 的每一行乘 W_q，就是这个词元要查询的东西。",
    ],
    why: [
      "A learned linear map lets the model choose in which respect tokens are compared.",
      "可以训练的线性变换让模型选择从哪个角度比较词元（提升拟合能力）。",
    ],
    question: ["Why is dW_q a product of X and dQ?", "为什么 dW_q 是 X 与 dQ 的乘积？"],
    answer: [
      "Every token used the same W_q: each adds x times its own dq.",
      "每个词元都用同一个 W_q：各自贡献 x 乘它的 dq，再相加。",
    ],
  },
  key: {
    name: ["Keys: X → K", "键：X → K"],
    what: [
      "Each row of X times W_k is what this token offers to be found by.",
      "X 的每一行乘 W_k，是这个词元供别人查找的标签。",
    ],
    why: [
      "Q and K apart: who asks need not be who answers, so QKᵀ is not symmetric.",
      "Q 与 K 分开：提问的不必是回答的，所以 QKᵀ 不对称。",
    ],
    question: ["Why is db_k zero?", "为什么 db_k 是零？"],
    answer: [
      "It adds the same to all scores of a query, and softmax does not see a common shift.",
      "它给一个查询的所有得分加上同一个数，而 softmax 看不到整体平移。",
    ],
  },
  value: {
    name: ["Values: X → V", "值：X → V"],
    what: [
      "Each row of X times W_v is what this token gives when it is attended to.",
      "X 的每一行乘 W_v，是这个词元被注意时给出的内容。",
    ],
    why: [
      "What is found by (K) and what is given (V) may differ.",
      "用来查找的（K）和给出的（V）可以不同。",
    ],
    question: [
      "Which of Q, K and V gets its gradient without softmax?",
      "Q、K、V 中哪一个的梯度不经过 softmax？",
    ],
    answer: ["V: dV = Pᵀ dO.", "V：dV = Pᵀ dO。"],
  },
  rotation: {
    name: ["Rotary position", "旋转位置编码"],
    what: [
      "Pairs of features are turned by an angle that grows with the position.",
      "特征两两一组，按与位置成正比的角度旋转。",
    ],
    why: [
      "The inner product of two turned rows knows only how far apart they are.",
      "两个旋转后的行的内积只取决于它们的距离。",
    ],
    question: ["How does the gradient go back through a rotation?", "梯度如何穿过旋转？"],
    answer: ["It is turned back by the same angle: Rᵀ.", "按同样的角度转回来：Rᵀ。"],
  },
  heads: {
    name: ["Cut into heads", "切成多头"],
    what: [
      "The columns of Q, K and V are cut into bands; each band is a head.",
      "Q、K、V 按列（通道）切成几段，每一段是一个头。",
    ],
    why: [
      "Each head compares tokens in its own subspace, and finds its own relation.",
      "每个头在自己的子空间里比较词元，捕捉不同的相关性。",
    ],
    question: [
      "Does one head's gradient reach another's band here?",
      "一个头的梯度会到达另一个头的那一段吗？",
    ],
    answer: ["No: bands only meet at W_o and in X.", "不会：各段只在 W_o 处和 X 中相遇。"],
  },
  scores: {
    name: ["Scores: Q Kᵀ", "得分：Q Kᵀ"],
    what: [
      "Row i times column j: how much query i and key j point the same way.",
      "第 i 行乘第 j 列：查询 i 与键 j 的内积，即相似度。",
    ],
    why: [
      "The inner product is large where two vectors agree: that is what is attended to.",
      "内积大说明两个向量相关度高，就应当给予更多关注。",
    ],
    question: ["Why is row 0 of dQ zero?", "为什么 dQ 的第 0 行是零？"],
    answer: [
      "With a causal mask the first query sees one key only: its share is 1, always.",
      "有因果掩码时第一个查询只看得见一个键：它的份额永远是 1。",
    ],
  },
  scale: {
    name: ["Scale by 1/√d_k", "除以 √d_k"],
    what: [
      "Every score is divided by the root of the width of a head.",
      "每个得分除以头的宽度的平方根。",
    ],
    why: [
      "A sum of d_k products of variance 1 has variance d_k; divided, it is 1 again.",
      "d_k 个方差为 1 的乘积之和方差为 d_k；除以 √d_k 后又变为 1，softmax 不会太陡。",
    ],
    question: ["What happens to the gradient?", "梯度会怎样？"],
    answer: ["It is divided too: dZ = dS / √d_k.", "它也要除：dZ = dS / √d_k。"],
  },
  position_bias: {
    name: ["Position bias", "位置偏置"],
    what: [
      "A number that depends only on the distance is added to each score.",
      "每个得分加上一个只取决于距离的数。",
    ],
    why: [
      "So scores know how far a key is, without a position in X.",
      "这样得分知道键有多远，而不需要在 X 里加位置。",
    ],
    question: ["Which cells of B share one number?", "B 的哪些单元格共用一个数？"],
    answer: [
      "Those of one diagonal: their gradients add up.",
      "同一条对角线上的：它们的梯度相加。",
    ],
  },
  mask: {
    name: ["Mask", "掩码"],
    what: ["What a query may not see gets the score −∞.", "查询不该看到的位置得分变成 −∞。"],
    why: [
      "A token that is to be guessed must not be looked at.",
      "生成时后面的词对前面的词不可见。",
    ],
    question: ["dP is not zero above the diagonal. Is dS?", "对角线以上 dP 不为零，那么 dS 呢？"],
    answer: [
      "dS is exactly 0 there: P is 0, and dS = P ∘ (…).",
      "dS 恰好为 0：因为 P = 0，而 dS = P ∘ (…)。",
    ],
  },
  softmax: {
    name: ["Softmax", "Softmax 三步"],
    what: [
      "Subtract each row's largest, take exponentials, divide by their sum.",
      "每行减去最大值，取指数，再除以总和。",
    ],
    why: [
      "Scores become shares of 1: more for one is less for the others.",
      "归一化：得分变成总和为 1 的份额，给一个多，别的就少。",
    ],
    question: ["Why do the rows of dS sum to 0?", "为什么 dS 的每一行之和是 0？"],
    answer: [
      "Adding a constant to a row of scores changes no share, so the loss cannot change.",
      "给一行得分都加上同一个常数，份额不变，损失也就不变。",
    ],
  },
  sum: {
    name: ["Weighted sum: P V", "加权求和：P V"],
    what: [
      "Row i of O is the sum of the rows of V, by the shares in row i of P.",
      "O 的第 i 行是 V 各行按 P 第 i 行的份额加权求和。",
    ],
    why: [
      "This is what attention is for: a vector that holds what mattered to it.",
      "注意力的核心就是加权求和：新向量包含了对它重要的信息。",
    ],
    question: ["Why does dP exist where the mask hides?", "为什么被掩码的位置也有 dP？"],
    answer: [
      "dP = dO Vᵀ does not ask for P; softmax's P ∘ … stops it.",
      "dP = dO Vᵀ 与 P 无关；到 softmax 的 P ∘ … 才被挡住。",
    ],
  },
  concat: {
    name: ["Concatenate", "拼接各头"],
    what: ["The heads' outputs stand side by side again.", "各头的输出重新并排拼接（concat）。"],
    why: [
      "Each head has found something else; the next step mixes it.",
      "每个头找到不同的信息，下一步把它们混合。",
    ],
    question: ["What does concatenation do to the gradient?", "拼接对梯度做了什么？"],
    answer: ["It is cut: each head gets its band of dC.", "切开：每个头得到 dC 中自己的那一段。"],
  },
  output: {
    name: ["Output: W_o", "输出：W_o"],
    what: [
      "A linear map mixes the heads into the width of the model.",
      "一个线性变换把各头混合回模型的宽度。",
    ],
    why: ["Heads meet only here.", "各头只在这里相遇。"],
    question: ["Which head does the loss want to change most?", "损失最想改变哪个头？"],
    answer: ["Compare the bands of dC.", "比较 dC 的各段。"],
  },
};
