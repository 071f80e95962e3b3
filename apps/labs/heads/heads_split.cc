// Two ways to make heads, and one that is something else.
#include "apps/labs/kit/lab_kit.h"

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

  Tensor heads_of(const Tensor& x) const {  // [B, T, C] -> [B, T, H, D]
    const auto heads = [&](size_t i) {
      return reshape(matmul(x, map_of(i)), {x.dim(0), x.dim(1), kHeads, kHeadWidth});
    };
    return attention(heads(0), heads(1), heads(2));
  }

  Tensor operator()(const Tensor& x) const {  // [B, T, C] -> [B, T, C]
    return matmul(reshape(heads_of(x), x.shape()), maps[3]);
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

double most_apart(const Samples& a, const Samples& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

Section trained_section(const LabContext& lab) {
  constexpr double kAlike = 0.02;  // of what there is to learn
  const auto train = [&](Way way) {
    return over_seeds(lab, [&](uint64_t seed) { return losses_of(lab, seed, way); });
  };
  const auto cut = train(lab.is_control() ? Way::kParts : Way::kCut), twice = train(Way::kTwice);
  const Samples end = values_of(cut, loss_at_end), other_end = values_of(twice, loss_at_end);
  Section section = make_section(
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
  add_settled(section, {cut, twice});
  return section;
}

// |dz_0 / dx| of the first head, channel by channel, summed over the tokens. In the control the
// head reads its own part of x alone.
Samples reach_of_head(const LabContext& lab) {
  const RandomStream random(1);
  const Student layer(random.derive("layer"), lab.is_control() ? Way::kParts : Way::kCut);
  const Tensor x = as_parameter(random_normal(random, "x", {1, kTokens, kWidth}));
  const Tensor z = slice(layer.heads_of(x), 2, 0, 1);
  const Tensor back = backward(sum(z * random_normal(random, "dz", z.shape())))[x];
  return sqrt(sum(reshape(back * back, {kTokens, kWidth}), 0)).to_vector();
}

Section blocks_section(const LabContext& lab) {
  const Samples reach = reach_of_head(lab);
  const double beside = *std::max_element(reach.begin() + kHeadWidth, reach.end());
  return make_section(
      "heads-split.blocks",
      {named("beside", equal(say("largest |dz0 / dx| at a channel of another block"), 0, beside))},
      {line_chart(say("What the first head reads of x"), say("channel of x"), say("gradient"),
                  {numbered_series("|dz0 / dx|", reach, 0)})});
}

std::vector<Section> run(const LabContext& lab) {
  return {trained_section(lab), blocks_section(lab)};
}

}  // namespace

Lab heads_split_lab() { return make_lab("heads-split", run); }

}  // namespace qkv
