// "I have a dream <eos>": what a causal mask hides, forward and backward.
#include "apps/labs/kit/lab_kit.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

namespace qkv {
namespace {

const std::vector<std::string>& words() {
  static const std::vector<std::string> kWords = {"I", "have", "a", "dream", "<eos>"};
  return kWords;
}

struct Sentence {
  Tensor query, key, value;  // [1, T, 1, D]

  Sentence first(int64_t length) const {
    const auto cut = [&](const Tensor& x) { return slice(x, 1, 0, length); };
    return {.query = cut(query), .key = cut(key), .value = cut(value)};
  }
};

Sentence make_sentence(const LabContext& lab) {
  const RandomStream random(lab.integer("seed"));
  const auto make = [&](const char* name) {
    return random_normal(random, name, {1, std::ssize(words()), 1, lab.integer("d")});
  };
  return {.query = make("q"), .key = make("k"), .value = make("v")};
}

AttentionOptions options_of(const LabContext& lab) {
  return {.mask = {.causal = !lab.is_control()},
          .scale = 1 / std::sqrt(static_cast<double>(lab.integer("d")))};
}

HeatMap named_map(const Text& title, const Tensor& matrix) {
  HeatMap map = heat_map_of(title, matrix);
  map.row_names = map.column_names = {words().begin(), words().end()};
  map.row_axis = say("queries");
  map.column_axis = say("keys");
  for (double& x : map.numbers) {
    if (std::isinf(x)) x = std::numeric_limits<double>::quiet_NaN();
  }
  return map;
}

// [T, T] of zeros at and below the diagonal, ones above: a token and one after it.
Tensor above_diagonal(int64_t n) {
  Samples numbers;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) numbers.push_back(j > i ? 1 : 0);
  }
  return constant_f64({n, n}, numbers);
}

// The steps of attention, and the gradients of a random loss.
struct Walk {
  Tensor scores, masked, weights;  // [T, T]
  Tensor dweights, dscores;        // dP, dS
  Tensor dquery;                   // [T, D]
};

Walk walk_of(const LabContext& lab, const Sentence& sentence) {
  const int64_t n = sentence.query.dim(1), d = sentence.query.dim(3);
  const auto head = [&](const Tensor& x) { return reshape(x, {1, 1, n, d}); };
  const Tensor query = as_parameter(head(sentence.query));
  const Traced attended =
      attend_in_steps(query, head(sentence.key), head(sentence.value), options_of(lab));
  const Trace& steps = attended.trace;
  const Tensor &result = attended.result, &scores = steps["scores"], &weights = steps["weights"];
  const Tensor& masked = steps["masked_scores"];
  const Tensor pushed = random_normal(RandomStream(lab.integer("seed")), "dO", result.shape());
  const Gradients gradients = backward(result, {.cotangent = pushed, .keep = {scores, weights}});
  const auto square = [&](const Tensor& x) { return reshape(x.detached(), {n, n}); };
  return {.scores = square(scores),
          .masked = square(masked),
          .weights = square(weights),
          .dweights = square(gradients[weights]),
          .dscores = square(gradients[scores]),
          .dquery = reshape(gradients[query], {n, d})};
}

Section steps_section(const LabContext& lab, const Sentence& sentence, const Walk& walk) {
  const AttentionOptions options = options_of(lab);
  const Tensor whole = attention(sentence.query, sentence.key, sentence.value, options);
  double off = 0;
  for (int64_t t = 1; t <= whole.dim(1); ++t) {
    const Sentence begun = sentence.first(t);
    const Tensor step = attention(begun.query, begun.key, begun.value, options);
    off = std::max(off, largest_difference(slice(whole, 1, t - 1, 1), slice(step, 1, t - 1, 1)));
  }
  const std::vector<Text> names = {words().begin(), words().end()};
  return make_section("mask.steps",
                      {same(say("rows of all words, at once with the mask and word by word"), off)},
                      {Arcs{.title = say("What each word looks at"),
                            .queries = names,
                            .keys = names,
                            .weights = walk.weights.to_vector()}});
}

Section weights_section(const Walk& walk) {
  const int64_t n = walk.weights.dim(0);
  const Tensor later = above_diagonal(n);
  const double itself = smallest_of(sum(walk.weights * identity(n), -1));
  return make_section(
      "mask.weights",
      {equal(say("largest weight of a later word"), 0, largest_of(walk.weights * later)),
       same(say("sums of the rows and 1"), largest_of(sum(walk.weights, -1) - 1.0)),
       equal(say("weight of the first word for itself"), 1,
             sum(slice(slice(walk.weights, 0, 0, 1), 1, 0, 1)).item()),
       named("itself", above(say("smallest weight of a word for itself"), 0, itself))},
      {HeatMaps{.title = say("Scores, before and after the mask"),
                .maps = {named_map("S", walk.scores), named_map(say("S, masked"), walk.masked)}},
       named_map(say("Weights P"), walk.weights)});
}

// |dy_i / dx_j| where j comes after i, the largest: of what goes into queries, keys and values.
double leak(const LabContext& lab, const Sentence& sentence) {
  const int64_t n = sentence.query.dim(1);
  const Tensor x = as_parameter(sentence.query);
  const Tensor result = attention(x, x, x, options_of(lab));
  double largest = 0;
  for (int64_t i = 0; i + 1 < n; ++i) {
    const Tensor back = backward(sum(slice(result, 1, i, 1) * slice(sentence.value, 1, i, 1)),
                                 {.keep_graph = true})[x];
    largest = std::max(largest, largest_of(slice(back, 1, i + 1, n - i - 1)));
  }
  return largest;
}

Section gradient_section(const LabContext& lab, const Sentence& sentence, const Walk& walk) {
  const Tensor later = above_diagonal(walk.weights.dim(0));
  return make_section(
      "mask.gradient",
      {above(say("largest |dP| of a later word"), 0, largest_of(walk.dweights * later)),
       equal(say("largest |dS| of a later word"), 0, largest_of(walk.dscores * later)),
       equal(say("largest |dy_i / dx_j|, j after i"), 0, leak(lab, sentence)),
       equal(say("largest |dQ| of the first word"), 0, largest_of(slice(walk.dquery, 0, 0, 1)))},
      {HeatMaps{.title = say("Gradients of weights and of scores"),
                .maps = {named_map("dP", walk.dweights), named_map("dS", walk.dscores)}}});
}

std::vector<Section> run(const LabContext& lab) {
  const Sentence sentence = make_sentence(lab);
  const Walk walk = walk_of(lab, sentence);
  return {steps_section(lab, sentence, walk), weights_section(walk),
          gradient_section(lab, sentence, walk)};
}

}  // namespace

Lab mask_lab() { return make_lab("mask", run); }

}  // namespace qkv
