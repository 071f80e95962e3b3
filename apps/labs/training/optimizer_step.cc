// A step against the gradient: what it promises, and what it keeps.
#include "absl/strings/match.h"
#include "apps/labs/kit/lab_kit.h"
#include "framework/autograd/hessian.h"
#include "framework/nn/with_parameters.h"
#include "framework/optim/optimizer.h"
#include "models/decoder.h"

namespace qkv {
namespace {

// The loss is compared with what a small step promises.
constexpr double kTolerance = 0.1;

// A decoder, one batch of random tokens, and the loss as a function of the parameters.
struct Setting {
  Decoder model;
  Tensor tokens, targets;  // i64 [B, T]

  std::vector<Tensor> numbers() const {
    return each_of(parameters(model), &NamedParameter::tensor);
  }

  Tensor loss(std::span<const Tensor> numbers) const {
    return cross_entropy(run_module(with_parameters(model, numbers), tokens), targets);
  }
};

Setting make_setting(const LabContext& lab, uint64_t seed) {
  constexpr int64_t kVocabulary = 8, kBatch = 4, kLength = 6;
  const int64_t d = lab.integer("d");
  const ModelOptions options = {
      .num_layers = lab.integer("layers"), .d_model = d, .num_heads = 2, .d_ff = 2 * d};
  const DataShape data = {.vocabulary_size = kVocabulary, .max_length = kLength};
  const RandomStream random(seed);
  return {.model = Decoder(options, data, Initializer(random.derive("model"), DType::f64)),
          .tokens = random_tokens(random.derive("tokens"), {kBatch, kLength}, kVocabulary),
          .targets = random_tokens(random.derive("targets"), {kBatch, kLength}, kVocabulary)};
}

std::vector<Tensor> copies_of(std::span<const Tensor> numbers) {
  return each_of(numbers, [](const Tensor& each) {
    return as_parameter(constant_f64(each.shape(), each.to_vector()));
  });
}

double product_of(std::span<const Tensor> a, std::span<const Tensor> b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += sum(a[i] * b[i]).item();
  return total;
}

// A direction as long as the gradient that has nothing to do with it.
std::vector<Tensor> random_direction(std::span<const Tensor> gradient, uint64_t seed) {
  std::vector<Tensor> direction;
  for (size_t i = 0; i < gradient.size(); ++i) {
    direction.push_back(random_normal(RandomStream(seed).derive(i), gradient[i].shape()));
  }
  const double factor = global_norm(gradient) / global_norm(direction);
  for (Tensor& each : direction) each = each * factor;
  return direction;
}

struct Point {
  Setting setting;
  std::vector<Tensor> at, gradient;
  std::vector<Tensor> direction;   // against which the step goes
  double loss = 0, curvature = 0;  // gᵀ H g

  // The loss after a step, less the loss before.
  double change(OptimizerKind kind, double learning_rate) const {
    std::vector<NamedParameter> named = parameters(setting.model);
    const std::vector<Tensor> moved = copies_of(at);
    for (size_t i = 0; i < named.size(); ++i) named[i].tensor = moved[i];
    const auto optimizer = make_optimizer({.kind = kind, .weight_decay = 0}, named);
    optimizer->step(direction, learning_rate);
    return setting.loss(moved).item() - loss;
  }
};

Point make_point(const LabContext& lab, uint64_t seed) {
  Point point = {.setting = make_setting(lab, seed), .at = {}, .gradient = {}, .direction = {}};
  point.at = point.setting.numbers();
  const Tensor loss = point.setting.loss(point.at);
  point.loss = loss.item();
  const Gradients gradients = backward(loss);
  for (const Tensor& each : point.at) {
    point.gradient.push_back(gradients.contains(each) ? gradients[each] : each.detached() * 0.0);
  }
  point.direction = lab.is_control() ? random_direction(point.gradient, seed) : point.gradient;
  const auto products = hessian_vector_product(
      [&](std::span<const Tensor> numbers) { return point.setting.loss(numbers); }, point.at,
      point.gradient);
  point.curvature = product_of(point.gradient, products);
  return point;
}

// The change of the loss in steps of some length, over the points.
struct Steps {
  double rate = 0;
  Samples promised = {};  // η |g|²
  Samples kept = {};      // what the loss falls by
  Samples bent = {};      // η² gᵀ H g / 2

  // Each point is `part` over the promise.
  Samples over_promised(const Samples& part) const {
    Samples ratios;
    for (size_t i = 0; i < part.size(); ++i) ratios.push_back(part[i] / promised[i]);
    return ratios;
  }
  Samples rests() const {
    Samples rests;
    for (size_t i = 0; i < kept.size(); ++i) rests.push_back(promised[i] - kept[i]);
    return rests;
  }
};

Steps take_steps(const std::vector<Point>& points, double rate) {
  Steps steps = {.rate = rate};
  for (const Point& point : points) {
    steps.promised.push_back(rate * product_of(point.gradient, point.gradient));
    steps.kept.push_back(-point.change(OptimizerKind::kSgd, rate));
    steps.bent.push_back(rate * rate * point.curvature / 2);
  }
  return steps;
}

LineChart chart_of(const std::vector<Steps>& all) {
  LineChart chart = line_chart(
      say("What the loss falls by in a step of length η |g|"), log_axis("η"), say("over η |g|²"),
      {series_by("SGD", all, &Steps::rate,
                 [](const Steps& steps) { return steps.over_promised(steps.kept); })});
  chart.levels = {{say("as the gradient promises"), 1}, {say("no step at all"), 0}};
  return chart;
}

// The fall of the loss in a step of Adam, over η Σ |g_i|.
std::vector<double> ratios_of_adam(const std::vector<Point>& points, double rate) {
  Samples ratios;
  for (const Point& point : points) {
    double sizes = 0;
    for (const Tensor& each : point.gradient) {
      for (const double number : each.to_vector()) sizes += std::abs(number);
    }
    ratios.push_back(-point.change(OptimizerKind::kAdam, rate) / (rate * sizes));
  }
  return ratios;
}

// The smallest |dL/dW| of the maps of attention at each point.
Samples smallest_gradients(const std::vector<Point>& points) {
  return values_of(points, [](const Point& point) {
    double smallest = std::numeric_limits<double>::infinity();
    const std::vector<NamedParameter> named = parameters(point.setting.model);
    for (size_t i = 0; i < named.size(); ++i) {
      if (!absl::StrContains(named[i].name, ".attention.")) continue;
      if (!absl::EndsWith(named[i].name, "weight")) continue;
      smallest = std::min(smallest, size_of(point.direction[i]));
    }
    return smallest;
  });
}

Samples sizes_of(Samples samples) {
  for (double& sample : samples) sample = std::abs(sample);
  return samples;
}

// A step is small where the curvature takes less than half of the tolerance, on the mean.
bool is_small(const Steps& steps) {
  return mean_of(sizes_of(steps.over_promised(steps.bent))) < kTolerance / 2;
}

std::vector<Section> run(const LabContext& lab) {
  constexpr double kTooLargeRate = 1000, kAdamRate = 1e-5;
  const std::vector<Point> points =
      over_seeds(lab, [&](uint64_t seed) { return make_point(lab, seed); });
  const std::vector<Steps> all =
      each_of(lab.numbers("rates"), [&](double rate) { return take_steps(points, rate); });
  Section section = make_section("optimizer-step.step", {}, {chart_of(all)});
  section.add(above(say("the smallest |dL/dW| of W_q, W_k, W_v, W_o"), 0,
                    least_of(smallest_gradients(points))));
  for (const Steps& steps : all) {
    const Finding finding = near(say("what the loss falls by, over η |g|², η = {0}", steps.rate), 1,
                                 steps.over_promised(steps.kept), kTolerance);
    section.add(is_small(steps) ? finding : beyond(finding));
  }
  const Steps& first = all.front();
  const Finding rest = alike(say("the rest, and η² gᵀ H g / 2, η = {0}", first.rate), first.rests(),
                             first.bent, kTolerance * mean_of(sizes_of(first.bent)));
  section.add(is_small(first) ? rest : beyond(rest));
  section.add(near(say("Adam: what the loss falls by, over η Σ |g_i|, η = {0}", kAdamRate), 1,
                   ratios_of_adam(points, kAdamRate), kTolerance));
  section.add(beyond(named("far", above(say("what the loss falls by, η = {0}", kTooLargeRate), 0,
                                        take_steps(points, kTooLargeRate).kept))));
  return {section};
}

}  // namespace

Lab optimizer_step_lab() { return make_lab("optimizer-step", run); }

}  // namespace qkv
