// Attention does not know the order of what it attends to; unless a mask or positions tell it.
#include <algorithm>

#include "framework/autograd/backward.h"
#include "framework/nn/position.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

// f(X) = attention(X W_q, X W_k, X W_v)        x [T, C] -> [T, C]
struct Layer {
  Tensor query, key, value;  // [C, C]

  Layer(const RandomStream& random, int64_t width)
      : query(random_normal(random.derive("W_q"), {width, width})),
        key(random_normal(random.derive("W_k"), {width, width})),
        value(random_normal(random.derive("W_v"), {width, width})) {}

  Tensor operator()(const Tensor& x, bool causal) const {
    const auto map = [&](const Tensor& weight) {
      return reshape(matmul(x, weight), {1, x.dim(0), 1, x.dim(1)});
    };
    const double factor = 1.0 / static_cast<double>(x.dim(1));
    return reshape(
        attention(map(query), map(key), map(value), {.mask = {.causal = causal}, .scale = factor}),
        {x.dim(0), x.dim(1)});
  }
};

// P X: row i of it is row places[i] of X.
Tensor shuffled(const Tensor& x, const Tensor& places) { return embedding(x, places); }

Tensor random_places(RandomStream random, int64_t n) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < n; ++i) places.push_back(i);
  for (int64_t i = n; i > 1; --i) {  // Fisher and Yates, 1938
    std::swap(places[static_cast<size_t>(i - 1)],
              places[static_cast<size_t>(random.below(static_cast<uint64_t>(i)))]);
  }
  return Tensor(Array::of({n}, places));
}

// The largest differences over the seeds.
struct Differences {
  double moved = 0;      // f(P X) and P f(X)
  double kept = 0;       // f(P X) and f(X)
  double pooled = 0;     // their means over the tokens
  double gradients = 0;  // of P X and of X, moved
};

Tensor gradient_at(const Layer& layer, const Tensor& x, const Tensor& pushed, bool causal) {
  const Tensor input = as_parameter(x);
  return backward(layer(input, causal), {.cotangent = pushed})[input];
}

// With `positions`, what is shuffled stands at places of its own.
Differences measure(const LabContext& lab, bool causal, const Tensor& positions) {
  Differences largest;
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  for (const uint64_t seed : lab.seeds()) {
    const RandomStream random(seed);
    const Layer layer(random.derive("layer"), d);
    const Tensor x = random_normal(random.derive("x"), {n, d});
    const Tensor places = random_places(random.derive("places"), n);
    const Tensor before = layer(x + positions, causal);
    const Tensor after = layer(shuffled(x, places) + positions, causal);
    largest.moved = std::max(largest.moved, largest_difference(after, shuffled(before, places)));
    largest.kept = std::max(largest.kept, largest_difference(after, before));
    largest.pooled = std::max(largest.pooled, largest_difference(mean(after, 0), mean(before, 0)));
    const Tensor pushed = random_normal(random.derive("dO"), {n, d});
    const Tensor there =
        gradient_at(layer, shuffled(x, places) + positions, shuffled(pushed, places), causal);
    const Tensor here = gradient_at(layer, x + positions, pushed, causal);
    largest.gradients =
        std::max(largest.gradients, largest_difference(there, shuffled(here, places)));
  }
  return largest;
}

Tensor no_positions(const LabContext& lab) {
  return zeros({lab.integer("n"), lab.integer("d")}, DType::f64);
}

Section shuffle_section(const LabContext& lab) {
  const Differences plain = measure(lab, lab.is_control(), no_positions(lab));
  const Differences causal = measure(lab, true, no_positions(lab));
  return {
      .claims = {{"A39",
                  "对self-attention来说,它跟每一个input vector都做attention,所以没有考虑到input "
                  "sequence的顺序。",
                  "Self-attention attends to every input vector, and so takes no account of their "
                  "order."},
                 {"C159",
                  "自注意力模型忽略了序列[x_1,...,x_N]中每个x的位置信息，即将该序列打乱后并不影响"
                  "输出结果。",
                  "Self-attention ignores where each x stands: the output is the same when the "
                  "sequence is shuffled."}},
      .formula = "f(P X) = P f(X)",
      .prediction =
          "Shuffled tokens get the very vectors that they got before, and so do their gradients: "
          "what moves is only where they stand.",
      .findings = {same("f(P X) and P f(X)", plain.moved),
                   same("mean over the tokens, before and after", plain.pooled),
                   same("gradients, before and after", plain.gradients),
                   beyond(same("f(P X) and f(X), row by row", plain.kept)),
                   beyond(same("f(P X) and P f(X), with a causal mask", causal.moved))},
      .condition = "outputs move along with their tokens, and nothing is masked",
      .correction =
          "Shuffling does change the output: its rows are shuffled as well (f is equivariant, not "
          "invariant). And under a causal mask order counts."};
}

Section positions_section(const LabContext& lab) {
  const Tensor positions = sinusoidal_positions(lab.integer("n"), lab.integer("d"), DType::f64);
  const double with = measure(lab, lab.is_control(), positions).moved;
  const double without = measure(lab, lab.is_control(), no_positions(lab)).moved;
  const double causal = measure(lab, true, no_positions(lab)).moved;
  return {.claims = {{"C163",
                      "位置编码e是自注意力机制中获取序列位置信息的唯一来源，是模型重要的"
                      "组成部分。",
                      "The encoding e is the only source from which self-attention knows "
                      "positions, and an important part of the model."}},
          .formula = "f(P X + E) against P f(X + E)",
          .prediction = "With positions added order counts; without them nothing tells it.",
          .findings = {found("f(P X) and P f(X), with positions", "differ", format_number(with),
                             with > 1e-3),
                       same("f(P X) and P f(X), without positions", without),
                       beyond(same("without positions, with a causal mask", causal))},
          .condition = "there is no causal mask",
          .correction =
              "Not the only source: a causal mask tells the first token from the second, as it "
              "sees one token and the other two."};
}

std::vector<Section> run(const LabContext& lab) {
  return {shuffle_section(lab), positions_section(lab)};
}

}  // namespace

Lab order_lab() {
  return {.name = "order",
          .question = "Does attention know the order of its tokens?",
          .control = "every layer has a causal mask",
          .duration = "1 s",
          .options = {{"n", "8", "tokens", 2, 128},
                      {"d", "8", "numbers of a token", 2, 128, Numbers::kMultiples},
                      seeds_option("5", "tokens, layers and shuffles")},
          .run = run};
}

}  // namespace qkv
