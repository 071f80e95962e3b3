// Two ways to make heads, and one that is something else.
#include "framework/nn/attention.h"
#include "lessons/labs/kit.h"

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

Tensor weight_of(const Projection& map) {  // W of Q = X W
  return transposed(std::get<Linear>(map.kind).weight);
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
  return matmul(softmax(products_of_rows(q, k) * factor), v);
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
      random_normal(RandomStream(lab.integer("seed")), "again", {sizes.width, sizes.head()});
  const Tensor twice = matmul(matmul(x, weight), again), once = matmul(x, matmul(weight, again));
  return make_section(
      "heads-split.two-ways", {"A47", "A49", "A50", "A51"},
      {same("q that is cut, and each head's own matrix",
            largest_difference_of_heads(x, weight, sizes, lab.is_control())),
       same("two maps, one after the other, and their product", largest_difference(twice, once)),
       beyond(same("q that is cut, and a map of each part of x",
                   largest_difference_of_heads(x, weight, sizes, true)))},
      {heat_map_of("Q = X W: the heads side by side", matmul(x, weight))});
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
  return make_section(
      "heads-split.concat", {"C142-3", "C152", "B150"},
      {same("the layer and its heads one by one", largest_difference(whole, mapped)),
       same("the product with W_o and the sum over the heads", largest_difference(mapped, added))},
      {heat_map_of("Heads, side by side", side_by_side)});
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
  const Tensor pushed = random_normal(RandomStream(lab.integer("seed")), "dO", first.shape());
  const Gradients gradients = backward(sum(first * pushed));
  const Tensor back = concat({gradients[q], gradients[k], gradients[v]}, 1);  // [1, 3 T, H, D]
  return size_of(slice(back, 2, 1, sizes.heads - 1)) / size_of(back);
}

Section crossing_section(const LabContext& lab, const Tensor& x, const MultiHeadAttention& layer,
                         const Sizes& sizes) {
  return make_section(
      "heads-split.crossing", {"A52"},
      {equal("share of dQ, dK, dV in other heads", 0, crossing(lab, x, layer, sizes))});
}

// |dz_0 / dx|, channel by channel, summed over the tokens.
std::vector<double> reach_of_head(const LabContext& lab, const MultiHeadAttention& layer,
                                  const Tensor& x, const Sizes& sizes) {
  const Tensor input = as_parameter(x);
  const Tensor z = attend(input, layer, 0, sizes, lab.is_control());
  const Tensor pushed = random_normal(RandomStream(lab.integer("seed")), "dz", z.shape());
  const Tensor back = backward(sum(z * pushed))[input];
  return sqrt(sum(back * back, 0)).to_vector();
}

Section blocks_section(const LabContext& lab, const Tensor& x, const MultiHeadAttention& layer,
                       const Sizes& sizes) {
  const Samples reach = reach_of_head(lab, layer, x, sizes);
  const double beside = *std::max_element(reach.begin() + sizes.head(), reach.end());
  return make_section("heads-split.blocks", {"B146"},
                      {equal("largest |dz0 / dx| at a channel of another block", 0, beside)},
                      {LineChart{.title = "What the first head reads of x",
                                 .x_label = "channel of x",
                                 .y_label = "gradient",
                                 .series = {numbered_series("|dz0 / dx|", reach, 0)}}});
}

std::vector<Section> run(const LabContext& lab) {
  const Sizes sizes = {.tokens = lab.integer("n"),
                       .width = lab.integer("heads") * lab.integer("d"),
                       .heads = lab.integer("heads")};
  const RandomStream random(lab.integer("seed"));
  const Tensor x = random_normal(random, "x", {sizes.tokens, sizes.width});
  const MultiHeadAttention layer =
      attention_layer(random.derive("layer"), sizes.width, sizes.heads);
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
