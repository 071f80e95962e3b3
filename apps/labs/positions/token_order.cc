// Attention does not know the order of what it attends to; unless a mask tells it.
#include "apps/labs/kit/lab_kit.h"

namespace qkv {
namespace {

// f(X) = attention(X W_q, X W_k, X W_v)        x [T, C] -> [T, C]
struct Layer {
  Tensor query, key, value;  // [C, C]

  Layer(const RandomStream& random, int64_t width)
      : query(random_normal(random, "W_q", {width, width})),
        key(random_normal(random, "W_k", {width, width})),
        value(random_normal(random, "W_v", {width, width})) {}

  Tensor operator()(const Tensor& x, bool causal) const {
    const auto map = [&](const Tensor& weight) { return one_head(matmul(x, weight)); };
    const double factor = 1.0 / static_cast<double>(x.dim(1));
    return reshape(
        attention(map(query), map(key), map(value), {.mask = {.causal = causal}, .scale = factor}),
        x.shape());
  }
};

// P X: row i of it is row places[i] of X.
Tensor shuffled(const Tensor& x, const Tensor& places) { return embedding(x, places); }

// An order of n tokens that is not the one in which they stood.
Tensor shuffled_places(const RandomStream& random, int64_t n) {
  RandomStream order = random.derive("places");
  while (true) {
    Tensor places = random_order(order, n);
    if (places.to_vector() != counted(n).to_vector()) return places;
  }
}

// The result for the first tokens in their order, and in another.
HeatMaps maps_of(const LabContext& lab) {
  const int64_t n = std::min<int64_t>(8, lab.integer("n")), d = lab.integer("d");
  const RandomStream random(1);
  const Layer layer(random.derive("layer"), d);
  const Tensor x = random_normal(random, "x", {n, d}), places = shuffled_places(random, n);
  const auto map = [&](const char* title, const Tensor& y, const Tensor& tokens) {
    HeatMap heat_map = heat_map_of(title, y);
    for (const double token : cast(tokens, DType::f64).to_vector()) {
      heat_map.row_names.push_back(say("token {0}", static_cast<int64_t>(token)));
    }
    heat_map.column_axis = say("numbers");
    return heat_map;
  };
  return {.title = say("Shuffled tokens get the same rows, at other places"),
          .maps = {map("f(X)", layer(x, lab.is_control()), counted(n)),
                   map("f(P X)", layer(shuffled(x, places), lab.is_control()), places)}};
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

Differences measure(const LabContext& lab, bool causal) {
  Differences largest;
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  for (const uint64_t seed : lab.seeds()) {
    const RandomStream random(seed);
    const Layer layer(random.derive("layer"), d);
    const Tensor x = random_normal(random, "x", {n, d});
    const Tensor places = shuffled_places(random, n);
    const Tensor before = layer(x, causal);
    const Tensor after = layer(shuffled(x, places), causal);
    largest.moved = std::max(largest.moved, largest_difference(after, shuffled(before, places)));
    largest.kept = std::max(largest.kept, largest_difference(after, before));
    largest.pooled = std::max(largest.pooled, largest_difference(mean(after, 0), mean(before, 0)));
    const Tensor pushed = random_normal(random, "dO", {n, d});
    const Tensor there = gradient_at(layer, shuffled(x, places), shuffled(pushed, places), causal);
    const Tensor here = gradient_at(layer, x, pushed, causal);
    largest.gradients =
        std::max(largest.gradients, largest_difference(there, shuffled(here, places)));
  }
  return largest;
}

std::vector<Section> run(const LabContext& lab) {
  const Differences plain = measure(lab, lab.is_control()), causal = measure(lab, true);
  return {make_section(
      "order.shuffle",
      {same(say("f(P X) and P f(X)"), plain.moved),
       same(say("mean over the tokens, before and after"), plain.pooled),
       same(say("gradients, before and after"), plain.gradients),
       beyond(named("kept", same(say("f(P X) and f(X), row by row"), plain.kept))),
       beyond(named("causal", same(say("f(P X) and P f(X), with a causal mask"), causal.moved)))},
      {maps_of(lab)})};
}

}  // namespace

Lab order_lab() { return make_lab("order", run); }

}  // namespace qkv
