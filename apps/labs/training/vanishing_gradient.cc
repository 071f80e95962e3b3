// How the gradient fares in a deep stack: with residuals and norms, and without.
#include "apps/labs/kit/lab_kit.h"
#include "framework/nn/block.h"

namespace qkv {
namespace {

// The surroundings of the layers of a stack.
struct Form {
  Text name;
  bool has_residuals;
  NormPlace norms;
  bool is_scaled;
};

std::vector<Form> forms_of(const LabContext& lab) {
  using enum NormPlace;
  const bool has = !lab.is_control();
  const NormPlace before = has ? kPre : kNone, after = has ? kPost : kNone;
  return {{say("pre-norm"), has, before, true},
          {say("post-norm"), has, after, true},
          {say("pre-norm, S not divided"), has, before, false},
          {say("residuals, no norms"), has, kNone, true},
          {say("norms, no residuals"), false, before, true},
          {say("neither"), false, kNone, true}};
}

// Maps that keep the size of what they read.
std::vector<Block> make_blocks(const LabContext& lab, uint64_t seed, const Form& form,
                               int64_t depth) {
  const int64_t d = lab.integer("d");
  Initializer init(RandomStream(seed).derive("blocks"), DType::f64);
  const double deviation = 1 / std::sqrt(static_cast<double>(d));
  const auto map = [&] { return Linear(init, d, d, false, deviation); };
  std::vector<Block> blocks;
  for (int64_t i = 0; i < depth; ++i) {
    MultiHeadAttention attention = attention_layer(init, d, 1);
    attention.scale_scores = form.is_scaled;
    Block block;
    block.mixer_norm.kind = block.feed_forward_norm.kind = LayerNorm(init, d, false);
    block.mixer.kind = NotedChild<"attention", MultiHeadAttention>(attention);
    block.feed_forward =
        FeedForward{.up = map(), .down = map(), .activation = Activation::kGelu, .dropout = {}};
    block.norm_place = form.norms;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

Tensor run_block(const Block& block, const Form& form, const Tensor& x, ForwardContext& context) {
  if (form.has_residuals) return block(x, {}, context);
  const auto norm = [&](const Norm& layer, const Tensor& h) {
    return form.norms == NormPlace::kNone ? h : layer(h);
  };
  const Tensor mixed = block.mixer(norm(block.mixer_norm, x), {}, context);
  return block.feed_forward(norm(block.feed_forward_norm, mixed), context);
}

// |dL / dx| of what each block reads, and of what the last one makes, of a random loss.
std::vector<double> gradients_of(const LabContext& lab, uint64_t seed, const Form& form,
                                 int64_t depth) {
  const RandomStream random(seed);
  const Shape shape = {1, lab.integer("n"), lab.integer("d")};
  ForwardContext context;
  std::vector<Tensor> stream = {as_parameter(random_normal(random, "x", shape))};
  for (const Block& block : make_blocks(lab, seed, form, depth)) {
    stream.push_back(run_block(block, form, stream.back(), context));
  }
  const Tensor pushed = random_normal(random, "dy", shape);
  const Gradients gradients = backward(sum(stream.back() * pushed), {.keep = stream});
  Samples norms;
  for (const Tensor& x : stream) norms.push_back(size_of(gradients[x]));
  return norms;
}

// |dL / dx| at the input over that at the output: by depth and seed. What layers do to it they do
// by factors, so that its logarithms are what has a mean.
struct Shares {
  Text name;
  std::vector<Samples> by_depth = {};  // log10
  Samples by_layer = {};               // over that at the output, of the deepest, first seed
};

Shares measure(const LabContext& lab, const Form& form) {
  Shares shares = {.name = form.name};
  for (const int64_t depth : lab.integers("depth")) {
    Samples samples;
    for (const uint64_t seed : lab.seeds()) {
      Samples norms = gradients_of(lab, seed, form, depth);
      for (double& norm : norms) norm /= norms.back();
      samples.push_back(norms.front());
      if (seed == lab.seeds().front()) shares.by_layer = norms;
    }
    shares.by_depth.push_back(log10_of(samples));
  }
  return shares;
}

LineChart chart_of(const std::vector<Shares>& all) {
  LineChart chart = line_chart(say("|dL/dx| on the way, over that at the output, first seed"),
                               say("layers below"), log_axis(say("gradient")),
                               each_of(all, [](const Shares& shares) {
                                 return numbered_series(shares.name, shares.by_layer, 0);
                               }));
  chart.levels = {{say("a hundred times as much"), 100}, {say("a hundredth"), 0.01}};
  return chart;
}

std::vector<Section> run(const LabContext& lab) {
  std::vector<Shares> all;
  for (const Form& form : forms_of(lab)) all.push_back(measure(lab, form));
  const Shares &pre = all[0], &undivided = all[2];
  // Neither vanished nor exploded: between a hundredth of what set out and a hundred times as much.
  const auto keeps = [&](const Shares& shares) {
    return between(say("{0}: log10 of what arrives through {1} layers", shares.name,
                       lab.integers("depth").back()),
                   -2, 2, shares.by_depth.back());
  };
  Section section = make_section("vanish.depth", {}, {chart_of(all)});
  section.add(keeps(pre));
  section.add(keeps(all[1]));
  section.add(larger(say("{0} and {1}: log10 of what arrives", undivided.name, pre.name),
                     undivided.by_depth.back(), pre.by_depth.back()));
  section.add(beyond(named("residuals", keeps(all[3]))));
  section.add(beyond(named("norms", keeps(all[4]))));
  section.add(beyond(named("neither", keeps(all[5]))));
  return {section};
}

}  // namespace

Lab vanish_lab() { return make_lab("vanish", run); }

}  // namespace qkv
