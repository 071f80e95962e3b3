#include "apps/labs/scores/lookup.h"

#include <numeric>

#include "apps/labs/kit/lab_texts.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

// Each word belongs to the one before it in a circle of all, so that none belongs to itself.
std::vector<int64_t> draw_partners(RandomStream random, int64_t n) {
  std::vector<int64_t> circle(static_cast<size_t>(n));
  std::iota(circle.begin(), circle.end(), 0);
  shuffle(circle, random);
  std::vector<int64_t> partners(circle.size());
  for (size_t i = 0; i < circle.size(); ++i) {
    partners[static_cast<size_t>(circle[i])] = circle[(i + 1) % circle.size()];
  }
  return partners;
}

}  // namespace

Text name_of(Score score) {
  switch (score) {
    case Score::kDot:
      return "q·k";
    case Score::kScaled:
      return "q·k / √d";
    case Score::kAdditive:
      return say("additive");
  }
  fail("a score without a name");
}

Tensor scores_of(Score score, const Tensor& queries, const Tensor& keys, const Tensor& v,
                 const Tensor& bias) {
  const int64_t n = queries.dim(0), m = keys.dim(0), d = queries.dim(1);
  const double root = std::sqrt(static_cast<double>(d));
  const Tensor q = reshape(queries, {n, 1, d}), k = reshape(keys, {1, m, d});
  switch (score) {
    case Score::kDot:
      return products_of_rows(queries, keys);
    case Score::kScaled:
      return products_of_rows(queries, keys) / root;
    case Score::kAdditive:
      return sum(tanh(q + k + bias) * v, -1);
  }
  fail("a score without a formula");
}

Lookup train_lookup(const RandomStream& random, const LookupOptions& options) {
  constexpr int64_t kContents = 16;  // numbers written on a word
  const int64_t n = options.n, d = options.d;
  const auto draw = [&](const char* name, const Shape& shape, double times) {
    return as_parameter(random_normal(random, name, shape) * times);
  };
  Lookup lookup = {.score = options.score,
                   .partners = draw_partners(random.derive("partners"), n),
                   .words = draw("words", {n, d}, 1),
                   .w_q = draw("W_q", {d, d}, 1),
                   .w_k = draw("W_k", {d, d}, 1),
                   .v = draw("v", {d}, 1 / std::sqrt(static_cast<double>(d))),
                   .bias = draw("b", {d}, 1)};
  std::vector<NamedParameter> parameters = {
      {"words", lookup.words}, {"W_q", lookup.w_q}, {"W_k", lookup.w_k}};
  if (options.score == Score::kAdditive) {
    parameters.push_back({"v", lookup.v});
    parameters.push_back({"b", lookup.bias});
  }
  lookup.losses = train_with_adam(parameters, options.steps, [&](uint64_t step) {
    const RandomStream now = random.derive(step);
    const Tensor contents = random_normal(now, "contents", {n, kContents});
    const std::vector<int64_t> partners =
        options.is_lawful ? lookup.partners : draw_partners(now.derive("partners"), n);
    const Tensor error =
        matmul(lookup.weights(), contents) - embedding(contents, tokens_of(partners));
    return mean(error * error);
  });
  return lookup;
}

double share_of_partners(const Lookup& lookup, const Tensor& numbers) {
  const std::vector<int64_t> largest = places_of_largest(numbers);
  double count = 0;
  for (size_t i = 0; i < largest.size(); ++i) count += largest[i] == lookup.partners[i] ? 1 : 0;
  return count / static_cast<double>(largest.size());
}

}  // namespace qkv
