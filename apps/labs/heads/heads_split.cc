// Two ways to make heads, and one that is something else.
#include "apps/labs/kit/lab_kit.h"
#include "framework/nn/mixers/attention.h"

namespace qkv {
namespace {

// Heads that are cut from one product, and heads that have a second matrix: as they learn.

constexpr int64_t kTokens = 6, kHeads = 4, kHeadWidth = 3, kWidth = kHeads * kHeadWidth;

// 1 where row and column are of one head.   [C, C]
Tensor blocks() {
  std::vector<double> ones;
  for (int64_t i = 0; i < kWidth * kWidth; ++i) {
    ones.push_back(i / kWidth / kHeadWidth == i % kWidth / kHeadWidth ? 1 : 0);
  }
  return constant_f64({kWidth, kWidth}, ones);
}

// How the heads of a layer are made: cut from x W; from x W W', where W' is 1 at the start; or, in
// a control, from parts of x.
enum class Way { kCut, kTwice, kParts };

struct Student {
  Way way;
  std::vector<Tensor> maps;         // of q, k, v, and of what the heads say
  std::vector<Tensor> second = {};  // of q, k and v

  Student(const RandomStream& random, Way chosen) : way(chosen) {
    for (const char* const name : {"query", "key", "value", "output"}) {
      maps.push_back(as_parameter(random_normal(random, name, {kWidth, kWidth}) *
                                  (1 / std::sqrt(static_cast<double>(kWidth)))));
      if (way == Way::kTwice && maps.size() < 4) second.push_back(as_parameter(identity(kWidth)));
    }
  }

  std::vector<NamedParameter> parameters() const {
    std::vector<NamedParameter> all;
    for (const auto* const list : {&maps, &second}) {
      for (const Tensor& map : *list) all.push_back({absl::StrCat(all.size()), map});
    }
    return all;
  }

  Tensor map_of(size_t i) const {
    if (way == Way::kTwice) return matmul(maps[i], second[i]);
    return way == Way::kParts ? maps[i] * blocks() : maps[i];
  }

  Tensor operator()(const Tensor& x) const {  // [B, T, C] -> [B, T, C]
    const auto heads = [&](size_t i) {
      return reshape(matmul(x, map_of(i)), {x.dim(0), x.dim(1), kHeads, kHeadWidth});
    };
    return matmul(reshape(attention(heads(0), heads(1), heads(2)), x.shape()), maps[3]);
  }
};

// The loss of each step: the error beside that of zeros.
Samples losses_of(const LabContext& lab, uint64_t seed, Way way) {
  const RandomStream random(seed);
  const MultiHeadAttention layer = attention_layer(random.derive("layer"), kWidth, kHeads);
  const Student student(random.derive("student"), way);
  const auto loss_of_step = [&](uint64_t step) {
    const Tensor x = random_normal(random.derive(step), "x", {16, kTokens, kWidth});
    const Tensor right = run_module(layer, x, AttentionMask{});
    const Tensor error = student(x) - right;
    return mean(error * error) / mean(right * right);
  };
  return train_with_adam(student.parameters(), lab.integer("steps"), loss_of_step,
                         /*learning_rate=*/0.02, Rate::kFalling);
}

// The mean of the last tenth of the steps.
double end_of(const Samples& losses) {
  return mean_of(std::span(losses).last((losses.size() + 9) / 10));
}

double most_apart(const Samples& a, const Samples& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

Section heads_split_trained_section(const LabContext& lab) {
  constexpr double kAlike = 0.02;  // of what there is to learn
  const auto train = [&](Way way) {
    return over_seeds(lab, [&](uint64_t seed) { return losses_of(lab, seed, way); });
  };
  const auto cut = train(lab.is_control() ? Way::kParts : Way::kCut), twice = train(Way::kTwice);
  const Samples end = values_of(cut, end_of), other_end = values_of(twice, end_of);
  return make_section(
      "heads-split.trained",
      {premise(
           at_most(say("loss at the end, where zeros have 1: a second matrix"), kAlike, other_end)),
       named("start",
             same(say("loss of the first step, in both ways"), cut[0].front() - twice[0].front())),
       named("way", differ(say("losses on the way, in both ways"), most_apart(cut[0], twice[0]))),
       named("end",
             alike(say("loss at the end: q is cut, and a second matrix"), end, other_end, kAlike))},
      {line_chart(say("Loss of two ways to the same heads, first seed"), say("step"),
                  log_axis(say("loss")),
                  {numbered_series(say("q is cut"), cut[0]),
                   numbered_series(say("a second matrix"), twice[0])})});
}

// A layer and what it reads. The control cuts the heads from x, and not from q.
struct Setting {
  int64_t tokens, heads, head_width, width;
  RandomStream random;
  bool is_control;
  Tensor x;
  MultiHeadAttention layer;

  explicit Setting(const LabContext& lab)
      : tokens(lab.integer("n")),
        heads(lab.integer("heads")),
        head_width(lab.integer("d")),
        width(heads * head_width),
        random(1),
        is_control(lab.is_control()),
        x(random_normal(random, "x", {tokens, width})),
        layer(attention_layer(random.derive("layer"), width, heads)) {}

  // Columns, or rows, of head h.
  Tensor part_of(const Tensor& whole, int axis, int64_t h) const {
    return slice(whole, axis, h * head_width, head_width);
  }
};

HeatMap map_of(const Text& title, const Tensor& matrix) {
  HeatMap map = heat_map_of(title, matrix);
  map.row_axis = say("token");
  map.column_axis = say("numbers, head by head");
  return map;
}

Tensor weight_of(const Projection& map) {  // W of Q = X W
  return transposed(std::get<Linear>(map.kind).weight);
}

// q of head h by a matrix of its own; or, if x is cut, of the part of x that is the head's.
Tensor head_of(const Setting& s, const Tensor& x, const Projection& map, int64_t h, bool cuts_x) {
  const Tensor own = s.part_of(weight_of(map), 1, h);  // W_h [width, head]
  if (!cuts_x) return matmul(x, own);
  return matmul(s.part_of(x, -1, h), s.part_of(own, 0, h));
}

// b_h: one head by itself.   x [T, C] -> [T, C / H]
Tensor attend(const Setting& s, const Tensor& x, int64_t h) {
  const Tensor q = head_of(s, x, s.layer.query, h, s.is_control);
  const Tensor k = head_of(s, x, s.layer.key, h, s.is_control);
  const Tensor v = head_of(s, x, s.layer.value, h, s.is_control);
  const double factor = 1 / std::sqrt(static_cast<double>(s.head_width));
  return matmul(softmax(products_of_rows(q, k) * factor), v);
}

// Q = X W, cut, beside every head's own.
double largest_difference_of_heads(const Setting& s, bool cuts_x) {
  const Tensor whole = matmul(s.x, weight_of(s.layer.query));
  double difference = 0;
  for (int64_t h = 0; h < s.heads; ++h) {
    const Tensor own = head_of(s, s.x, s.layer.query, h, cuts_x);
    difference = std::max(difference, largest_difference(s.part_of(whole, -1, h), own));
  }
  return difference;
}

Section two_ways_section(const Setting& s) {
  const Tensor weight = weight_of(s.layer.query);
  const Tensor again = random_normal(s.random, "again", {s.width, s.head_width});
  const Tensor twice = matmul(matmul(s.x, weight), again);
  const Tensor once = matmul(s.x, matmul(weight, again));
  return make_section("heads-split.two-ways",
                      {same(say("q that is cut, and q by a matrix of each head"),
                            largest_difference_of_heads(s, s.is_control)),
                       same(say("two maps, one after the other, and one map by their product"),
                            largest_difference(twice, once))},
                      {map_of(say("Q = X W: the heads side by side"), matmul(s.x, weight))});
}

Section concat_section(const Setting& s) {
  const Tensor batch = reshape(s.x, {1, s.tokens, s.width});
  const Tensor whole = reshape(run_module(s.layer, batch, AttentionMask{}), {s.tokens, s.width});
  std::vector<Tensor> heads;
  Tensor added = zeros({s.tokens, s.width}, DType::f64);
  for (int64_t h = 0; h < s.heads; ++h) {
    heads.push_back(attend(s, s.x, h));
    added = added + matmul(heads.back(), s.part_of(weight_of(s.layer.output), 0, h));
  }
  const Tensor side_by_side = concat(heads, -1);
  const Tensor mapped = matmul(side_by_side, weight_of(s.layer.output));
  return make_section(
      "heads-split.concat",
      {same(say("the layer, and its heads one by one"), largest_difference(whole, mapped)),
       same(say("the product with W_o, and the sum over the heads"),
            largest_difference(mapped, added)),
       named("width", equal(say("numbers of a token: side by side, and after W_o"),
                            side_by_side.dim(1), mapped.dim(1)))},
      {map_of(say("Heads, side by side"), side_by_side)});
}

// dQ of a loss on the first head alone, and the share of |dQ|, |dK|, |dV| that is in other heads.
struct Crossing {
  Tensor back;  // [T, C]
  double share = 0;
};

Crossing crossing(const Setting& s) {
  const auto by_head = [&](const Projection& map) {
    return as_parameter(reshape(map(s.x), {1, s.tokens, s.heads, s.head_width}));
  };
  const Tensor q = by_head(s.layer.query), k = by_head(s.layer.key), v = by_head(s.layer.value);
  Tensor heads = reshape(attention(q, k, v), {s.tokens, s.width});
  if (s.is_control) heads = s.layer.output(heads);
  const Tensor first = s.part_of(heads, -1, 0);
  const Gradients gradients = backward(sum(first * random_normal(s.random, "dO", first.shape())));
  const Tensor back = concat({gradients[q], gradients[k], gradients[v]}, 1);  // [1, 3 T, H, D]
  return {.back = reshape(gradients[q], {s.tokens, s.width}),
          .share = size_of(slice(back, 2, 1, s.heads - 1)) / size_of(back)};
}

Section crossing_section(const Setting& s) {
  const Crossing crossed = crossing(s);
  return make_section("heads-split.crossing",
                      {equal(say("share of dQ, dK, dV in other heads"), 0, crossed.share)},
                      {map_of(say("dQ of a loss on the first head"), crossed.back)});
}

// |dz_0 / dx|, channel by channel, summed over the tokens.
Samples reach_of_head(const Setting& s) {
  const Tensor input = as_parameter(s.x);
  const Tensor z = attend(s, input, 0);
  const Tensor back = backward(sum(z * random_normal(s.random, "dz", z.shape())))[input];
  return sqrt(sum(back * back, 0)).to_vector();
}

Section blocks_section(const Setting& s) {
  const Samples reach = reach_of_head(s);
  const double beside = *std::max_element(reach.begin() + s.head_width, reach.end());
  return make_section(
      "heads-split.blocks",
      {named("beside", equal(say("largest |dz0 / dx| at a channel of another block"), 0, beside))},
      {line_chart(say("What the first head reads of x"), say("channel of x"), say("gradient"),
                  {numbered_series("|dz0 / dx|", reach, 0)})});
}

// Each head looks at one place, h tokens back, whatever the tokens are; the control at all.
Section kernels_section(const Setting& s) {
  Tensor by_heads = zeros({s.tokens, s.width}, DType::f64), convolved = by_heads;
  for (int64_t h = 0; h < s.heads; ++h) {
    std::vector<double> weights(static_cast<size_t>(s.tokens * s.tokens), 0);
    for (int64_t t = h; t < s.tokens; ++t) weights[static_cast<size_t>(t * s.tokens + t - h)] = 1;
    const Tensor fixed = constant_f64({s.tokens, s.tokens}, weights);
    const Tensor p = s.is_control ? softmax(fixed) : fixed;
    const Tensor value = s.part_of(weight_of(s.layer.value), 1, h),
                 output = s.part_of(weight_of(s.layer.output), 0, h);
    by_heads = by_heads + matmul(matmul(p, matmul(s.x, value)), output);
    if (h >= s.tokens) continue;
    const Tensor before =
        h == 0 ? s.x : concat({zeros({h, s.width}, DType::f64), slice(s.x, 0, 0, s.tokens - h)}, 0);
    convolved = convolved + matmul(before, matmul(value, output));  // tap h: W_v W_o
  }
  return make_section(
      "heads-split.kernels",
      {named("taps",
             same(say("heads that look at one place each, and one convolution with as many taps"),
                  largest_difference(by_heads, convolved)))});
}

std::vector<Section> run(const LabContext& lab) {
  const Setting setting(lab);
  return {two_ways_section(setting), heads_split_trained_section(lab), concat_section(setting),
          crossing_section(setting), blocks_section(setting),          kernels_section(setting)};
}

}  // namespace

Lab heads_split_lab() { return make_lab("heads-split", run); }

}  // namespace qkv
