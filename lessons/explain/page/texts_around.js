// What is said before and after attention: [English, 中文], with the terms of the lecture notes.
export const aroundTexts = {
  glance: {
    name: ["At a glance", "一览"],
    what: [
      "Every layer and head: where it looks (P), and where the loss would have it look (dP).",
      "每一层、每个头：它看哪里（P），以及损失希望它看哪里（dP）。",
    ],
    why: [
      "Attention shares out a limited resource: each row of P is a budget of 1.",
      "注意力分配有限的资源：P 的每一行都是总和为 1 的预算。",
    ],
    question: [
      "Which head looks at one place only, and which at everything?",
      "哪个头只看一处，哪个头什么都看？",
    ],
    answer: [
      "Read the entropy: 0 is one place, ln T is everything alike.",
      "看熵：0 表示只看一处，ln T 表示平均地看所有位置。",
    ],
  },
  training: {
    name: ["Training", "训练"],
    what: [
      "The same example at each checkpoint of the run: what it looks at, its loss, its gradients.",
      "同一个样本在每个检查点上的样子：它看哪里，损失多大，梯度多大。",
    ],
    why: [
      "At the start every row of P is nearly even; what a head is for is learned.",
      "开始时 P 的每一行几乎是均匀的；一个头负责什么，是训练出来的。",
    ],
    question: [
      "Which falls first, the loss or the entropy of a head?",
      "哪个先下降：损失，还是某个头的熵？",
    ],
    answer: [
      "Move the slider to where a map becomes sharp, and read both curves there.",
      "把滑块移到注意力图变尖锐的那一步，再看这里的两条曲线。",
    ],
  },
  embedding: {
    name: ["Embedding and positions", "词嵌入与位置编码"],
    what: [
      "Each token becomes a vector; the vector of its position is added.",
      "每个词元变成一个向量，再加上它所在位置的向量。",
    ],
    why: [
      "Attention alone does not know order: what is not added here, no later step can know.",
      "自注意力本身不考虑顺序；位置信息只能从这里加进来。",
    ],
    question: ["Why do dA and de get the same gradient?", "为什么 dA 和 de 得到相同的梯度？"],
    answer: [
      "A sum passes its gradient on to each addend unchanged.",
      "加法把梯度原样传给每个加数。",
    ],
  },
  norm: {
    name: ["Layer norm", "层归一化"],
    what: [
      "Each row is moved to mean 0 and stretched to variance 1; then gain and shift are learned.",
      "每一行平移到均值 0、缩放到方差 1，再乘上学到的增益、加上偏移。",
    ],
    why: [
      "Whatever the layers before do to sizes, the projections see rows of one size.",
      "无论前面的层如何改变大小，投影看到的行总是同样的尺度。",
    ],
    question: [
      "Why do the rows of dX_in sum to 0 before the residual is added?",
      "为什么在加上残差之前，dX_in 的每一行之和是 0？",
    ],
    answer: [
      "Shifting a whole row changes nothing after the norm, so the loss cannot depend on it.",
      "整行平移不会改变归一化之后的结果，所以损失与它无关。",
    ],
  },
  rms_norm: {
    name: ["RMS norm", "RMS 归一化"],
    what: [
      "Each row is divided by its root mean square, and multiplied by a learned gain.",
      "每一行除以它的均方根，再乘上学到的增益。",
    ],
    why: ["The projections see rows of one size.", "投影看到的行总是同样的尺度。"],
    question: ["What of a row is lost?", "一行中丢失了什么？"],
    answer: ["Its length: dX_in is at a right angle to X_in.", "它的长度：dX_in 与 X_in 垂直。"],
  },
  ledger: {
    name: ["Ledger of dX", "dX 的账本"],
    what: [
      "dX is the sum of what comes back by Q, by K and by V.",
      "dX 是经 Q、经 K、经 V 回来的梯度之和。",
    ],
    why: [
      "One X was used several times: gradients of several uses add up.",
      "同一个 X 用了几次（同源），几次的梯度要相加。",
    ],
    question: ["Which path brings most?", "哪条路径带回最多？"],
    answer: ["Read the shares: they sum to 1.", "看份额：它们之和为 1。"],
  },
  ledger_input: {
    name: ["Ledger of dX_in", "dX_in 的账本"],
    what: [
      "What went in gets one gradient past the layer, and one through it.",
      "输入得到两份梯度：一份绕过这一层，一份穿过这一层。",
    ],
    why: [
      "The first is why deep models learn at all: it comes back unchanged.",
      "第一份正是深层模型能学习的原因：它原样返回。",
    ],
    question: [
      "Would the layer below learn if attention passed nothing back?",
      "如果注意力什么都不传回，下面的层还能学习吗？",
    ],
    answer: ["Yes: dR reaches it all the same.", "能：dR 照样到达。"],
  },
  residual: {
    name: ["Residual", "残差"],
    what: ["The layer's output is added to what came in.", "把这一层的输出加到输入上。"],
    why: [
      "The gradient reaches early layers past every layer, unchanged.",
      "梯度可以绕过每一层，原样到达前面的层。",
    ],
    question: ["How is dR shared between X_in and Y?", "dR 如何分给 X_in 和 Y？"],
    answer: ["It is not shared: each gets all of it.", "不是分：每一个都得到全部。"],
  },
  second_norm: {
    name: ["Second norm", "第二次归一化"],
    what: ["The same norm, before the feed-forward layer.", "前馈层之前同样的归一化。"],
    why: ["Rows of one size again.", "行又是同样的尺度。"],
    question: ["Which row had to be stretched most?", "哪一行被拉伸得最多？"],
    answer: ["That with the smallest variance.", "方差最小的那一行。"],
  },
  up: {
    name: ["Feed-forward, up", "前馈：升维"],
    what: ["Each token on its own is mapped to more features.", "每个词元各自映射到更多特征。"],
    why: [
      "Attention moved information between tokens; here each works on what it has got.",
      "注意力在词元间搬运信息，这里各自加工。",
    ],
    question: ["Does row i of U depend on other tokens?", "U 的第 i 行依赖别的词元吗？"],
    answer: ["Not here: only through row i of N.", "这里不依赖，只通过 N 的第 i 行。"],
  },
  activation: {
    name: ["Activation", "激活函数"],
    what: ["Every number alone is bent by one function.", "每个数单独经过一个非线性函数。"],
    why: ["Without it two linear maps would be one.", "没有它，两个线性变换就等于一个。"],
    question: ["Where does little gradient pass?", "哪里几乎不通过梯度？"],
    answer: [
      "Where U is far below 0: the function is flat there.",
      "U 远小于 0 的地方：函数是平的。",
    ],
  },
  down: {
    name: ["Feed-forward, down", "前馈：降维"],
    what: ["Back to the width of the model.", "回到模型的宽度。"],
    why: ["So that it can be added to the residual stream.", "这样才能与残差相加。"],
    question: ["Which features carry the row?", "哪些特征构成这一行？"],
    answer: ["Choose a cell of F: its largest products.", "选 F 的一个单元格，看最大的乘积。"],
  },
  second_residual: {
    name: ["Second residual", "第二次残差"],
    what: ["What the feed-forward layer found is added.", "加上前馈层的结果。"],
    why: [
      "The block has changed its input, and not replaced it.",
      "这一块修改输入，而不是替换它。",
    ],
    question: ["Where do two gradients meet going back?", "反向时两个梯度在哪里相遇？"],
    answer: [
      "At R: that past the layer and that through it are added.",
      "在 R：绕过与穿过这一层的梯度相加。",
    ],
  },
  final_norm: {
    name: ["Final norm", "最后的归一化"],
    what: ["The last norm before the logits.", "logits 之前最后一次归一化。"],
    why: ["Logits should not grow with the depth.", "logits 不应随深度增大。"],
    question: ["What does its gain g learn?", "它的增益 g 学到什么？"],
    answer: ["How much each feature counts for the answer.", "每个特征对答案的重要程度。"],
  },
  logits: {
    name: ["Logits", "Logits"],
    what: ["A number for each token that could come.", "每个可能的词元一个数。"],
    why: [
      "The inner product of the row with each token's vector: similarity again.",
      "该行与每个词元向量的内积：还是相似度。",
    ],
    question: ["Why is dH a mixture of rows of W?", "为什么 dH 是 W 各行的混合？"],
    answer: [
      "It pulls towards the right token, and away from those that were too likely.",
      "它拉向正确的词元，推离概率过高的词元。",
    ],
  },
  loss: {
    name: ["Loss", "损失"],
    what: [
      "Minus the log of the share that the right token got, averaged.",
      "正确词元所得概率的负对数，取平均。",
    ],
    why: [
      "Here the way back begins: dlogits = (p − y) / N, y being 1 at the target.",
      "反向从这里开始：dlogits = (p − y) / N，y 在目标处为 1。",
    ],
    question: ["Why do the rows of dlogits sum to 0?", "为什么 dlogits 的每一行之和是 0？"],
    answer: ["p sums to 1, and so does y.", "p 的和是 1，y 的和也是 1。"],
  },
  graph: {
    name: ["The graph", "计算图"],
    what: [
      "The ops as they were recorded, forward and backward, with what each kept.",
      "记录下来的每个运算，前向与反向，以及为反向保留了什么。",
    ],
    why: [
      "Nothing on this page is a formula of its own: all comes from these ops.",
      "本页没有自己的公式：一切都来自这些运算。",
    ],
    question: ["Where are gradients added up, and why there?", "梯度在哪里相加？为什么？"],
    answer: [
      "Where a value is used more than once: X for Q, K and V; X_in by the layer and past it.",
      "在一个值被多次使用的地方：X 用于 Q、K、V；X_in 既进入这一层，又从旁边绕过。",
    ],
  },
  exercises: {
    name: ["Exercises", "练习"],
    what: ["A cell is hidden: compute it.", "一个单元格被盖住了：把它算出来。"],
    why: [
      "Who can fill in any cell has understood the step.",
      "能填出任何一个格子，就懂了这一步。",
    ],
  },
};
