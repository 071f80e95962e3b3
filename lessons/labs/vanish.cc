// How the gradient fares in a deep stack: with residuals and norms, and without.
#include "absl/strings/str_format.h"
#include "framework/nn/block.h"
#include "lessons/labs/kit.h"

namespace qkv {
namespace {

// What stands around the layers of a stack.
struct Form {
  std::string name;
  bool has_residuals;
  NormPlace norms;
  bool is_scaled;
};

std::vector<Form> forms_of(const LabContext& lab) {
  using enum NormPlace;
  const bool has = !lab.is_control();
  const NormPlace before = has ? kPre : kNone, after = has ? kPost : kNone;
  return {{"pre-norm", has, before, true},
          {"post-norm", has, after, true},
          {"pre-norm, S not divided", has, before, false},
          {"residuals, no norms", has, kNone, true},
          {"norms, no residuals", false, before, true},
          {"neither", false, kNone, true}};
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
    block.mixer.kind = Child<"attention", MultiHeadAttention>(attention);
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
  std::string name;
  std::vector<std::vector<double>> by_depth = {};
  Samples by_layer = {};  // over that at the output, of the deepest, first seed

  Samples deepest_logs() const { return log10_of(by_depth.back()); }
  // By depth, of the logarithms.
  Samples means() const {
    return values_of(
        by_depth, [](const Samples& samples) { return std::pow(10, mean_of(log10_of(samples))); });
  }
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
    shares.by_depth.push_back(samples);
  }
  return shares;
}

std::string range_of(const Samples& samples) {
  const auto [least, most] = std::ranges::minmax(samples);
  return absl::StrFormat("%.2g … %.2g", least, most);
}

Table table_of(const std::vector<Shares>& all, const std::vector<double>& depths) {
  return table_by(
      "|dL/dx| at the input, over that at the output, of all seeds",
      row_by("layers", depths, [](double depth) { return absl::StrCat(depth); }), all,
      [](const Shares& shares) { return row_by(shares.name, shares.by_depth, range_of); });
}

LineChart chart_of(const std::vector<Shares>& all) {
  return line_chart("|dL/dx| on the way, over that at the output, first seed", "layers below",
                    log_axis("gradient"), each_of(all, [](const Shares& shares) {
                      return numbered_series(shares.name, shares.by_layer, 0);
                    }));
}

// Neither vanished nor exploded, whatever the seed.
Finding keeps(const Shares& shares, double depth) {
  const Samples& samples = shares.by_depth.back();
  const auto [least, most] = std::ranges::minmax(samples);
  return found(absl::StrCat(shares.name, ": what arrives through ", depth, " layers, all seeds"),
               "within 0.01 … 100", range_of(samples), least >= 0.01 && most <= 100);
}

std::vector<Section> run(const LabContext& lab) {
  const Samples depths = lab.numbers("depth");
  std::vector<Shares> all;
  for (const Form& form : forms_of(lab)) all.push_back(measure(lab, form));
  const Shares &pre = all[0], &post = all[1], &undivided = all[2], &residuals = all[3],
               &norms = all[4], &neither = all[5];
  const double deepest = depths.back();
  Section section = make_section(
      "vanish.depth",
      {keeps(pre, deepest), keeps(post, deepest),
       larger("pre-norm: log10 of the share, S not divided, and divided", undivided.deepest_logs(),
              pre.deepest_logs()),
       between("pre-norm: power of the depth", 0.25, 0.75, growth_exponent(depths, pre.means())),
       beyond(keeps(residuals, deepest)), beyond(keeps(norms, deepest)),
       beyond(keeps(neither, deepest))},
      {table_of(all, depths), chart_of(all)});
  return {section};
}

}  // namespace

Lab vanish_lab() { return make_lab("vanish", run); }

}  // namespace qkv
