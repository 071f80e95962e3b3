// What words and symbols of the page mean: [English, 中文].

// A word, as it stands in the texts of each language, and what it means.
export const glossary = [
  {
    word: ["gradient", "梯度"],
    text: [
      "How fast the loss changes with each number of a matrix. dQ is the gradient of Q: it has one number for each of Q's.",
      "损失随矩阵中每个数变化的快慢。dQ 是 Q 的梯度：Q 的每个数对应其中一个数。",
    ],
  },
  {
    word: ["loss", "损失"],
    text: [
      "One number that says how wrong the model's guess is: minus the log of the probability that it gave to the right token.",
      "一个数，表示模型猜得有多错：正确词元所得概率的负对数。",
    ],
  },
  {
    word: ["entropy", "熵"],
    text: [
      "How evenly a row of P is spread: −Σ P ln P. It is 0 where all attention is on one key, and ln n where n keys get the same.",
      "P 的一行有多分散：−Σ P ln P。全部注意力在一个键上时为 0，n 个键平分时为 ln n。",
    ],
  },
  {
    word: ["norm", "范数"],
    text: [
      "The size of a matrix, ‖A‖: the root of the sum of the squares of its numbers. A layer norm is something else: it moves and stretches each row.",
      "矩阵的大小 ‖A‖：各数平方和的平方根。层归一化（layer norm）是另一回事：它平移并缩放每一行。",
    ],
  },
  {
    word: ["share", "份额"],
    text: [
      "A part of a whole. The numbers in a row of P are shares of attention, and sum to 1. In a ledger, a path's share is how much of the sum of the gradients it makes up.",
      "整体的一部分。P 的一行是注意力的份额，和为 1。在账本中，一条路径的份额是它在梯度之和中占多少。",
    ],
  },
  {
    word: ["head", "头"],
    text: [
      "A part of an attention layer with queries, keys and values of its own. Layers, heads, rows and columns are counted from 0, as in NumPy.",
      "注意力层中有自己的查询、键和值的一部分。层、头、行、列都从 0 数起，和 NumPy 一样。",
    ],
  },
  {
    word: ["token", "词元"],
    text: ["A piece of the input: a word, a letter, a digit, or a patch of a picture.", "输入的一个单位：词、字母、数字，或图片的一小块。"],
  },
  {
    word: ["query", "查询"],
    text: ["The vector by which a token asks: it is compared with every key.", "词元用来提问的向量：它与每个键比较。"],
  },
  {
    word: ["key", "键"],
    text: ["The vector by which a token is found: its inner product with a query is the score.", "词元用来被找到的向量：它与查询的内积就是得分。"],
  },
  {
    word: ["value", "值"],
    text: ["The vector that a token hands over to who attends to it.", "词元交给关注它的一方的向量。"],
  },
  {
    word: ["score", "得分"],
    text: ["A number that says how well a query and a key go together: before softmax.", "表示查询与键有多匹配的数，在 softmax 之前。"],
  },
  {
    word: ["softmax", "softmax"],
    text: [
      "It makes shares of scores: exponentials, divided by their sum. Each row of the result is positive and sums to 1.",
      "把得分变成份额：取指数，再除以总和。结果的每一行都是正数，和为 1。",
    ],
  },
  {
    word: ["mask", "掩码"],
    text: ["It hides keys from queries: their score becomes −∞, and their share 0.", "把键对查询隐藏：得分变成 −∞，份额变成 0。"],
  },
  {
    word: ["residual", "残差"],
    text: ["A layer adds to its input what it computed, instead of replacing it: the input passes by unchanged.", "层把算出的结果加到输入上，而不是替换它：输入原样绕过这一层。"],
  },
  {
    word: ["logits", "logits"],
    text: ["The numbers before the last softmax: one for each token that could come next.", "最后一个 softmax 之前的数：每个可能的词元一个。"],
  },
  {
    word: ["attention", "注意力"],
    text: [
      "Each token gets a weighted sum of the values of others, with weights that depend on the tokens themselves. Within one sequence it is self-attention, also called intra-attention.",
      "每个词元得到其他词元的值的加权和，权重取决于词元本身。在同一个序列内叫自注意力，也叫内部注意力（intra-attention）。",
    ],
  },
];

// Matrices by their symbols, without what tells a head or a path.
export const symbolTexts = {
  W_E: ["the vectors of all tokens", "所有词元的向量"],
  A: ["the vectors of the tokens that are read", "读入的词元的向量"],
  e: ["the vectors of the positions", "位置向量"],
  W_q: ["the map that makes queries", "产生查询的映射"],
  W_k: ["the map that makes keys", "产生键的映射"],
  W_v: ["the map that makes values", "产生值的映射"],
  W_o: ["the map that mixes the heads", "混合各头的映射"],
  W_1: ["the map to the features", "到特征的映射"],
  W_2: ["the map back from the features", "从特征返回的映射"],
  W: ["the map that makes logits", "产生 logits 的映射"],
  b: ["a bias: one number for each column, added to every row", "偏置：每列一个数，加到每一行"],
  g: ["the gain of the norm: one factor for each column", "归一化的增益：每列一个因子"],
  c: ["the vector of the class token", "分类词元的向量"],
  X_in: ["what comes into the layer: a row for each token", "进入这一层的数：每个词元一行"],
  X: ["what queries, keys and values are made of", "查询、键和值的来源"],
  X_enc: ["what the encoder gives: the memory", "编码器的输出：记忆"],
  Q: ["queries", "查询"],
  K: ["keys", "键"],
  V: ["values", "值"],
  Z: ["scores before the scale", "缩放前的得分"],
  Z_c: ["scores after the scale, without positions", "缩放后、不含位置的得分"],
  B: ["a number for each distance, added to the scores", "加到得分上的、按距离的数"],
  S: ["scores", "得分"],
  S_m: ["scores after the mask", "掩码后的得分"],
  E: ["exponentials of the scores", "得分的指数"],
  P: ["shares of attention: the rows are queries, the columns keys", "注意力份额：行是查询，列是键"],
  "P∘dP": ["P and dP multiplied cell by cell; the sum of a row is the average wish", "P 与 dP 逐格相乘；一行之和是平均愿望"],
  O: ["weighted sums of values, of one head", "一个头的值的加权和"],
  C: ["all heads side by side", "各头并排"],
  Y: ["what attention gives", "注意力的输出"],
  R: ["what came in, with Y added", "输入加上 Y"],
  N: ["R after its norm", "归一化后的 R"],
  U: ["features before the activation", "激活前的特征"],
  G: ["features after the activation", "激活后的特征"],
  F: ["what the feed-forward layer gives", "前馈层的输出"],
  X_out: ["what leaves the block", "离开这一块的数"],
  H: ["X_out after the last norm", "最后归一化后的 X_out"],
  logits: ["a number for each token that could come", "每个可能的词元一个数"],
  p: ["probabilities of the tokens", "各词元的概率"],
  y: ["1 at the right token, 0 elsewhere", "正确词元处为 1，其余为 0"],
  "p-y": ["p minus y: too much (orange) or too little (blue)", "p 减 y：多了（橙）或少了（蓝）"],
  ℓ: ["the loss", "损失"],
  ℓ_t: ["the loss of each position", "每个位置的损失"],
};
