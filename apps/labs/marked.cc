#include "apps/labs/marked.h"

#include "apps/labs/kit.h"

namespace qkv {
namespace {

// Sentences in which one token is marked (its first number), and what is asked for is its second.
struct Question {
  Tensor x;       // [B, T, C]
  Tensor other;   // [B, T, C]: tokens that say nothing of x
  Tensor places;  // [B]
  Tensor target;  // [B, T, 1]
};

Question ask(const LabContext& lab, const RandomStream& random) {
  constexpr int64_t kBatch = 32;
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const Tensor x = random_normal(random, "x", {kBatch, n, d});
  const Tensor places = random_tokens(random, {kBatch}, n);
  const Tensor marked = reshape(one_hot(places, n, DType::f64), {kBatch, n, 1});
  const Tensor second = slice(x, 2, 1, 1);
  return {.x = concat({marked * 3.0, slice(x, 2, 1, d - 1)}, 2),
          .other = random_normal(random, "other", {kBatch, n, d}),
          .places = places,
          .target = broadcast_to(sum(second * marked, 1, true), {kBatch, n, 1})};
}

struct Network {
  Finder finder;
  std::optional<Mixer> below;
  Mixer mixer;
  Child<"head", Linear> head;  // C -> 1

  void visit(Visitor& v) {
    if (below) v.child("below", *below);
    v.child("mixer", mixer);
    v.child(head);
  }

  // What the upper mixer reads.
  Tensor read(const Tensor& x) const {
    if (!below) return x;
    const Tensor y = run_module(*below, x, AttentionMask{});
    return finder.bends ? relu(y) : y;
  }
  const AttentionLayer* attention() const { return std::get_if<AttentionLayer>(&mixer.kind); }
};

Network make_network(const LabContext& lab, const Finder& finder, uint64_t seed) {
  const RandomStream random(seed);
  Initializer init(random.derive("head"), DType::f64);
  Network network = {.finder = finder,
                     .below = {},
                     .mixer = make_layer(lab, finder.mixer, random),
                     .head = Linear(init, lab.integer("d"), 1, true, 0.5)};
  if (!finder.below.empty()) network.below = make_layer(lab, finder.below, random.derive("below"));
  return network;
}

Tensor answer(const Network& network, const Question& question) {
  const Tensor x = network.read(question.x);
  if (!network.finder.is_asked_from) {
    return network.head(run_module(network.mixer, x, AttentionMask{}));
  }
  return network.head(run_module(*network.attention(), question.other, x, AttentionMask{}));
}

// The answer where each token gets the weight of the token half a sentence before it.
Tensor answer_moved(const Network& network, const Tensor& x, const Trace& trace) {
  const Tensor weights = trace["attention.weights"];  // [B, 1, T, T]
  const int64_t n = x.dim(1), half = n / 2;
  const Tensor moved =
      concat({slice(weights, 3, n - half, half), slice(weights, 3, 0, n - half)}, 3);
  const Tensor mixed =
      matmul(reshape(moved, {x.dim(0), n, n}), reshape(trace["attention.v"], x.shape()));
  return network.head(network.attention()->output(mixed));
}

double share_left(const Tensor& answered, const Tensor& target) {
  const Tensor error = answered - target;
  return mean(error * error).item() / mean(target * target).item();
}

Found test(const LabContext& lab, const Network& network, const RandomStream& random) {
  Found found = {.left = 0};
  constexpr uint64_t kTests = 10;
  for (uint64_t i = 0; i < kTests; ++i) {
    const Question question = ask(lab, random.derive(i));
    found.left += share_left(answer(network, question), question.target) / kTests;
    if (!network.attention() || network.finder.is_asked_from) continue;
    const Tensor x = network.read(question.x);
    const Trace trace = trace_module(*network.attention(), x, AttentionMask{}).trace;
    found.moved += share_left(answer_moved(network, x, trace), question.target) / kTests;
    found.weights = trace["attention.weights"];
    found.places = question.places;
  }
  return found;
}

Found train(const LabContext& lab, const Finder& finder, uint64_t seed) {
  const Network network = make_network(lab, finder, seed);
  const RandomStream random = RandomStream(seed).derive("questions");
  train_with_adam(parameters(network), lab.integer("steps"), [&](uint64_t step) {
    const Question question = ask(lab, random.derive(step));
    const Tensor error = answer(network, question) - question.target;
    return mean(error * error);
  });
  return test(lab, network, random.derive("test"));
}

}  // namespace

Mixer make_layer(const LabContext& lab, const std::string& kind, const RandomStream& random,
                 bool projects) {
  ModelOptions options = {
      .d_model = lab.integer("d"), .mixer = kind, .num_heads = 1, .scale_scores = projects};
  if (!projects) options.attention.projections = Projections::kNone;
  Initializer init(random, DType::f64);
  Mixer mixer = make_mixer(
      init, options, {.max_length = lab.integer("n"), .causal = false, .residual_deviation = 0.5});
  auto* const layer = std::get_if<AttentionLayer>(&mixer.kind);
  if (lab.is_control() && layer) layer->scale = 0;
  return mixer;
}

std::vector<Found> find_marked(const LabContext& lab, const Finder& finder) {
  return over_seeds(lab, [&](uint64_t seed) {
    lab.say(absl::StrCat(lab.lab().name, ": ", finder.below, finder.below.empty() ? "" : " + ",
                         finder.mixer, ", seed ", seed));
    return train(lab, finder, seed);
  });
}

Samples left_of(const std::vector<Found>& all) { return values_of(all, &Found::left); }
Samples moved_of(const std::vector<Found>& all) { return values_of(all, &Found::moved); }

}  // namespace qkv
