// Two ways to make heads, and one that is something else.
#include <algorithm>
#include <cmath>

#include "framework/autograd/backward.h"
#include "framework/nn/attention.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

struct Sizes {
  int64_t tokens = 0, width = 0, heads = 0;

  int64_t head() const { return width / heads; }
};

// Columns, or rows, of head h.
Tensor part_of(const Tensor& x, int axis, int64_t h, const Sizes& sizes) {
  return slice(x, axis, h * sizes.head(), sizes.head());
}

// A layer as it is trained: the map of all heads in one matrix.
MultiHeadAttention make_layer(const Sizes& sizes, const RandomStream& random) {
  Initializer init(random, DType::f64);
  const double deviation = 1 / std::sqrt(static_cast<double>(sizes.width));
  const auto map = [&] { return Linear(init, sizes.width, sizes.width, false, deviation); };
  MultiHeadAttention layer;
  layer.query = map();
  layer.key = map();
  layer.value = map();
  layer.output = map();
  layer.num_heads = sizes.heads;
  return layer;
}

Tensor weight_of(const Projection& map) {  // W of Q = X W
  return transpose(std::get<Linear>(map.kind).weight, 0, 1);
}

// q of head h by a matrix of its own; or, if x is cut, of the part of x that is the head's.
Tensor head_of(const Tensor& x, const Tensor& weight, int64_t h, const Sizes& sizes, bool cuts_x) {
  const Tensor own = part_of(weight, 1, h, sizes);  // W_h [width, head]
  if (!cuts_x) return matmul(x, own);
  return matmul(part_of(x, -1, h, sizes), part_of(own, 0, h, sizes));
}

// b_h: one head by itself.   x [T, C] -> [T, C / H]
Tensor attend(const Tensor& x, const MultiHeadAttention& layer, int64_t h, const Sizes& sizes,
              bool cuts_x) {
  const Tensor q = head_of(x, weight_of(layer.query), h, sizes, cuts_x);
  const Tensor k = head_of(x, weight_of(layer.key), h, sizes, cuts_x);
  const Tensor v = head_of(x, weight_of(layer.value), h, sizes, cuts_x);
  const double factor = 1 / std::sqrt(static_cast<double>(sizes.head()));
  return matmul(softmax(matmul(q, k, {.transpose_b = true}) * factor), v);
}

// Q = X W, cut, beside every head's own.
double largest_difference_of_heads(const Tensor& x, const Tensor& weight, const Sizes& sizes,
                                   bool cuts_x) {
  const Tensor whole = matmul(x, weight);
  double difference = 0;
  for (int64_t h = 0; h < sizes.heads; ++h) {
    difference = std::max(difference, largest_difference(part_of(whole, -1, h, sizes),
                                                         head_of(x, weight, h, sizes, cuts_x)));
  }
  return difference;
}

Section two_ways_section(const LabContext& lab, const Tensor& x, const MultiHeadAttention& layer,
                         const Sizes& sizes) {
  const Tensor weight = weight_of(layer.query);
  const Tensor again =
      random_normal(RandomStream(lab.integer("seed")).derive("again"), {sizes.width, sizes.head()});
  const Tensor twice = matmul(matmul(x, weight), again), once = matmul(x, matmul(weight, again));
  return {
      .claims = {{"A47", "所谓head也就是指一个a衍生出几个q,k,v。",
                  "A head: of one a, several q, k and v are derived."},
                 {"A49", "q^i乘上一个W^{q,1}得到 q^{i,1},乘上 W^{q,2}得到q^{i,2}",
                  "q times W^{q,1} gives the query of head 1, times W^{q,2} that of head 2."},
                 {"A50", "q^i直接从通道维,平均拆分成两个,得到 q^{i,1},q^{i,2};",
                  "Or q is cut along its channels into two of equal length."},
                 {"A51", "这两种方式,在最后结果上都差不多。",
                  "In the end both come to about the same."}},
      .formula = "(X W)[:, head h] = X W_h,   (X W_q) W_1 = X (W_q W_1)",
      .prediction =
          "Columns of a product are products with columns: to cut q is to have a matrix for each "
          "head. A second matrix after the first is one matrix, too.",
      .findings = {same("q that is cut, and each head's own matrix",
                        largest_difference_of_heads(x, weight, sizes, lab.is_control())),
                   same("two maps, one after the other, and their product",
                        largest_difference(twice, once)),
                   beyond(same("q that is cut, and a map of each part of x",
                               largest_difference_of_heads(x, weight, sizes, true)))},
      .figures = {heat_map_of("Q = X W: the heads side by side", matmul(x, weight))},
      .condition = "q is cut, and not x",
      .correction =
          "Not about the same (差不多): exactly the same. To cut x before the map (C155, B146) is "
          "another layer."};
}

Section concat_section(const LabContext& lab, const Tensor& x, const MultiHeadAttention& layer,
                       const Sizes& sizes) {
  ForwardContext context;
  const Tensor batch = reshape(x, {1, sizes.tokens, sizes.width});
  const Tensor whole = reshape(layer(batch, {}, context), {sizes.tokens, sizes.width});
  std::vector<Tensor> heads;
  Tensor added = zeros({sizes.tokens, sizes.width}, DType::f64);
  for (int64_t h = 0; h < sizes.heads; ++h) {
    heads.push_back(attend(x, layer, h, sizes, lab.is_control()));
    added = added + matmul(heads.back(), part_of(weight_of(layer.output), 0, h, sizes));
  }
  const Tensor side_by_side = concat(heads, -1);
  const Tensor mapped = matmul(side_by_side, weight_of(layer.output));
  return {
      .claims = {{"C142",
                  "首先通过M个head生成M个不同的输出B_1,B_2,...,B_M，将其合并后再通过一层全连接层"
                  "进行线性变换",
                  "M heads make M outputs, which are put together and go through a linear "
                  "layer."},
                 {"C152", "B = W^o [B_1; ...; B_M]", "The same as a formula."},
                 {"B150", "然后把z0到z7拼接起来（concat操作），再做一次线性变换（改变维度）得到Z",
                  "Then z0 … z7 are concatenated, and one more linear map gives Z."}},
      .formula = "[B_1 … B_M] W_o = Σ_m B_m W_o,m",
      .prediction =
          "The layer is its heads, one by one, side by side, times W_o; which is a sum of what "
          "each head has to say.",
      .findings = {same("the layer and its heads one by one", largest_difference(whole, mapped)),
                   same("the product with W_o and the sum over the heads",
                        largest_difference(mapped, added))},
      .figures = {heat_map_of("Heads, side by side", side_by_side)}};
}

// The share of |dL/dQ| that is in other heads than the first, of a loss on the first alone.
double crossing(const LabContext& lab, const Tensor& x, const MultiHeadAttention& layer,
                const Sizes& sizes) {
  const auto by_head = [&](const Projection& map) {
    return as_parameter(
        reshape(map(x), {1, sizes.tokens, sizes.heads, sizes.head()}));  // [1, T, H, D]
  };
  const Tensor q = by_head(layer.query), k = by_head(layer.key), v = by_head(layer.value);
  Tensor heads = reshape(attention(q, k, v), {sizes.tokens, sizes.width});
  if (lab.is_control()) heads = layer.output(heads);
  const Tensor first = part_of(heads, -1, 0, sizes);
  const Tensor pushed =
      random_normal(RandomStream(lab.integer("seed")).derive("dO"), first.shape());
  const Gradients gradients = backward(sum(first * pushed));
  const Tensor back = concat({gradients[q], gradients[k], gradients[v]}, 1);  // [1, 3 T, H, D]
  return size_of(slice(back, 2, 1, sizes.heads - 1)) / size_of(back);
}

Section crossing_section(const LabContext& lab, const Tensor& x, const MultiHeadAttention& layer,
                         const Sizes& sizes) {
  return {.claims = {{"A52", "q^{i,1}是要和k^{j,1}做矩阵乘法,而非k^{j,2},一一对应。",
                      "Query 1 is multiplied with key 1 and not with key 2, each with its own."}},
          .formula = "S_h = Q_h K_hᵀ",
          .prediction =
              "Before W_o a head knows nothing of the others: a loss on head 1 sends no gradient "
              "to the queries, keys and values of head 2.",
          .findings = {
              exact("share of dQ, dK, dV in other heads", 0, crossing(lab, x, layer, sizes), 0)}};
}

// |dz_0 / dx|, channel by channel, summed over the tokens.
std::vector<double> reach_of_head(const LabContext& lab, const MultiHeadAttention& layer,
                                  const Tensor& x, const Sizes& sizes) {
  const Tensor input = as_parameter(x);
  const Tensor z = attend(input, layer, 0, sizes, lab.is_control());
  const Tensor pushed = random_normal(RandomStream(lab.integer("seed")).derive("dz"), z.shape());
  const Tensor back = backward(sum(z * pushed))[input];
  return sqrt(sum(back * back, 0)).to_vector();
}

Section blocks_section(const LabContext& lab, const Tensor& x, const MultiHeadAttention& layer,
                       const Sizes& sizes) {
  const std::vector<double> reach = reach_of_head(lab, layer, x, sizes);
  double beside = 0;
  Series series = {.name = "|dz0 / dx|", .x = {}, .y = reach};
  for (size_t c = 0; c < reach.size(); ++c) {
    series.x.push_back(static_cast<double>(c));
    if (c >= static_cast<size_t>(sizes.head())) beside = std::max(beside, reach[c]);
  }
  return {.claims = {{"B146",
                      "对于X，我们不是直接拿X去得到最终的Z，而是把X分成了h块（这里面一般h=8，"
                      "也就是我们经常使用的是8头注意力），得到z0到z7",
                      "X does not go to Z directly, but is cut into h blocks (8 as a rule), which "
                      "give z0 … z7."}},
          .formula = "z_0 = attention(X W_q,0, X W_k,0, X W_v,0)",
          .prediction = "z0 depends on the first block of the channels of X alone.",
          .findings = {exact("largest |dz0 / dx| at a channel of another block", 0, beside, 0)},
          .figures = {LineChart{.title = "What the first head reads of x",
                                .x_label = "channel of x",
                                .y_label = "gradient",
                                .series = {series}}},
          .correction =
              "Not X is cut into blocks, but Q, K and V, which are X times a matrix: every head "
              "reads all of X. Cut X and it is the narrow form (C155)."};
}

std::vector<Section> run(const LabContext& lab) {
  const Sizes sizes = {.tokens = lab.integer("n"),
                       .width = lab.integer("heads") * lab.integer("d"),
                       .heads = lab.integer("heads")};
  const RandomStream random(lab.integer("seed"));
  const Tensor x = random_normal(random.derive("x"), {sizes.tokens, sizes.width});
  const MultiHeadAttention layer = make_layer(sizes, random.derive("layer"));
  return {two_ways_section(lab, x, layer, sizes), concat_section(lab, x, layer, sizes),
          crossing_section(lab, x, layer, sizes), blocks_section(lab, x, layer, sizes)};
}

}  // namespace

Lab heads_split_lab() {
  return {.name = "heads-split",
          .question = "Two ways to make heads: are they the same?",
          .control = "heads are cut from x and not from q, and crossing is sought after W_o",
          .duration = "1 s",
          .options = {{"n", "6", "tokens", 2, 64},
                      {"heads", "4", "heads", 2, 16},
                      {"d", "3", "numbers of a head", 1, 32},
                      seed_option("of x and of the layer")},
          .run = run};
}

}  // namespace qkv
