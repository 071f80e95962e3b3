// How alike two vectors are, by their inner product or by the angle between them.
#include "apps/labs/kit/lab_kit.h"

namespace qkv {
namespace {

using Similarity = Tensor (*)(const Tensor& a, const Tensor& b);  // [N, d], [M, d] -> [N, M]

Tensor dot(const Tensor& a, const Tensor& b) { return products_of_rows(a, b); }
Tensor unit(const Tensor& x) { return x / reshape(lengths_of_rows(x), {x.dim(0), 1}); }
Tensor cosine(const Tensor& a, const Tensor& b) { return dot(unit(a), unit(b)); }

Tensor make_words(const LabContext& lab, uint64_t seed) {
  return random_normal(RandomStream(seed), "x", {lab.integer("n"), lab.integer("d")});
}

HeatMap pairs_map(const Text& title, const Tensor& pairs) {
  return heat_map_of(title, pairs, say("words"), say("words"));
}

// f(x) of the words of each seed.
template <class F>
Samples over_words(const LabContext& lab, const F& f) {
  return over_seeds(lab, [&](uint64_t seed) { return f(make_words(lab, seed)); });
}

// Two vectors of a plane, and the one on the other.
Paths projection_drawing() {
  const auto arrow = [](const Text& name, double x, double y) {
    return Path{.name = name, .x = {0, x}, .y = {0, y}};
  };
  return {.title = say("The projection of x on y"),
          .x_label = "1",
          .y_label = "2",
          .paths = {arrow("x = (1, 2)", 1, 2), arrow("y = (3, 1)", 3, 1),
                    arrow(say("(x·y / |y|²) y = (1.5, 0.5)"), 1.5, 0.5)}};
}

Section angle_section(const LabContext& lab) {
  const Similarity product = lab.is_control() ? cosine : dot;
  const auto in_order = [&](const Tensor& x) {
    return share_in_order(product(x, x), cosine(x, x));
  };
  const Samples of_units = over_words(lab, [&](const Tensor& x) { return in_order(unit(x)); });
  const Tensor x = make_words(lab, 1);
  Section section = make_section(
      "similarity.angle",
      {equal(say("share of pairs in the order of their angles, all lengths 1"), 1,
             least_of(of_units)),
       beyond(named("own", at_least(say("share of pairs in that order, with their own lengths"), 1,
                                    over_words(lab, in_order))))},
      {projection_drawing(), pairs_map("x·y", product(x, x)),
       pairs_map("cos(x, y)", cosine(x, x))});
  // Lengths are e^(s z) times those of random vectors of d numbers, where z has variance 1.
  add_map(section, "map",
          {.title = say("Words of d numbers, ln of their lengths ± s: 19 of 20 pairs are in the "
                        "order of their angles"),
           .x_name = "d",
           .y_name = "s",
           .x = {4, 16, 64, 256},
           .y = {0, 0.03, 0.1, 0.3, 1},
           .at = [&](double d, double s) {
             return at_least(
                 "", 0.95, over_seeds(lab, [&](uint64_t seed) {
                   const RandomStream random(seed);
                   const int64_t n = lab.integer("n");
                   const Tensor drawn = random_normal(random, "x", {n, std::llround(d)});
                   return in_order(drawn * exp(random_normal(random, "lengths", {n, 1}) * s));
                 }));
           }});
  return section;
}

// Vectors of words that learned what stands beside them. Words 2 i and 2 i + 1 are relatives: the
// same stands beside both. A word is as frequent as its rank to the power -zipf; relatives are n /
// 2 ranks apart.
struct Learned {
  Tensor words;      // [n, d]
  double error = 0;  // of what they expect: cross-entropy, less the entropy
};

Learned learn_words(const LabContext& lab, uint64_t seed, int64_t steps = 300, double zipf = 0) {
  constexpr double kSmall = 0.1;  // how large they begin
  const RandomStream random(seed);
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  Samples frequencies;
  for (int64_t i = 0; i < n; ++i) {
    frequencies.push_back(std::pow(1 + i / 2 + i % 2 * n / 2, -zipf));
  }
  const Tensor often = constant_f64({n}, frequencies);
  const Tensor of_pairs = random_normal(random, "beside", {n / 2, n}) * 2.0;
  const Tensor beside = lab.breaks("relatives")
                            ? softmax(random_normal(random, "beside", {n, n}) * 2.0 + log(often))
                            : softmax(reshape(stack({of_pairs, of_pairs}, 1), {n, n}) + log(often));
  const Tensor words = as_parameter(random_normal(random, "words", {n, d}) * kSmall);
  const Tensor map = as_parameter(random_normal(random, "map", {d, n}) * kSmall);
  const auto losses = train_with_adam({{"words", words}, {"map", map}}, steps, [&](uint64_t) {
    return neg(mean(often / mean(often) * sum(beside * log(softmax(matmul(words, map))), -1)));
  });
  const double entropy = -mean(sum(beside * log(beside), -1)).item();
  return {.words = words.detached(), .error = losses.back() - entropy};
}

// The mean of the products of each word with its relative, or with all that are none.
double mean_product(const Tensor& words, bool with_relatives) {
  const Samples products = dot(words, words).to_vector();
  const size_t n = static_cast<size_t>(words.dim(0));
  Samples chosen;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      if (j != i && (j == (i ^ 1)) == with_relatives) chosen.push_back(products[i * n + j]);
    }
  }
  return mean_of(chosen);
}

// The share of words that are more like themselves than like any other.
double share_like_themselves(const Tensor& words) {
  const Tensor similarity = dot(words, words);
  const Tensor own = sum(similarity * identity(words.dim(0)), -1);
  return 1 - count_not_zero(max(similarity, -1) - own) / static_cast<double>(words.dim(0));
}

Section related_section(const LabContext& lab) {
  const auto learned = over_seeds(lab, [&](uint64_t seed) { return learn_words(lab, seed); });
  const auto products = [&](bool with_relatives) {
    return values_of(learned,
                     [&](const Learned& each) { return mean_product(each.words, with_relatives); });
  };
  const double even = std::log(static_cast<double>(lab.integer("n")));
  Section section = make_section(
      "similarity.related",
      {premise(below(say("what the words expect beside them is off by, in nats"), even / 10,
                     values_of(learned, &Learned::error))),
       larger(say("learned words: product with a relative, and with a stranger"), products(true),
              products(false)),
       beyond(named("drawn",
                    at_least(say("share of drawn words that are more like themselves than others"),
                             1, over_words(lab, share_like_themselves))))},
      {pairs_map(say("x·y of learned words; 0 and 1 are relatives, 2 and 3, …"),
                 dot(learned[0].words, learned[0].words))});
  add_map(section, "map",
          {.title = say(
               "The product with a relative is larger, where frequencies fall with the power z"),
           .x_name = say("steps"),
           .y_name = "z",
           .x = {1, 3, 10, 100},
           .y = {0, 0.5, 1, 2},
           .at = [&](double steps, double z) {
             const auto all = over_seeds(lab, [&](uint64_t seed) {
               return learn_words(lab, seed, std::llround(steps), z).words;
             });
             const auto mean_of_products = [&](bool with_relatives) {
               return values_of(
                   all, [&](const Tensor& words) { return mean_product(words, with_relatives); });
             };
             return larger("", mean_of_products(true), mean_of_products(false));
           }});
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  return {angle_section(lab), related_section(lab)};
}

}  // namespace

Lab similarity_lab() { return make_lab("similarity", run); }

}  // namespace qkv
