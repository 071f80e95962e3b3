// A step against the gradient: what it promises, and what it keeps.
#include "framework/autograd/hessian.h"
#include "framework/core/error.h"
#include "framework/optim/optimizer.h"
#include "lessons/labs/kit.h"
#include "models/decoder.h"

namespace qkv {
namespace {

// A decoder, one batch of random tokens, and the loss as a function of the parameters.
struct Setting {
  Decoder model;
  Tensor tokens, targets;  // i64 [B, T]

  std::vector<Tensor> numbers() const {
    std::vector<Tensor> all;
    for (const NamedParameter& each : parameters(model)) all.push_back(each.tensor);
    return all;
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
  std::vector<Tensor> copies;
  for (const Tensor& each : numbers) {
    copies.push_back(as_parameter(constant_f64(each.shape(), each.to_vector())));
  }
  return copies;
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

// What the loss does in steps of some length, over the points.
struct Steps {
  double rate = 0;
  Samples promised = {};  // η |g|²
  Samples kept = {};      // what the loss falls by

  std::vector<double> ratios() const {
    Samples ratios;
    for (size_t i = 0; i < kept.size(); ++i) ratios.push_back(kept[i] / promised[i]);
    return ratios;
  }
  double rest() const {  // of all points
    double total = 0;
    for (size_t i = 0; i < kept.size(); ++i) total += std::abs(promised[i] - kept[i]);
    return total;
  }
};

Steps take_steps(const std::vector<Point>& points, double rate) {
  Steps steps = {.rate = rate};
  for (const Point& point : points) {
    steps.promised.push_back(rate * product_of(point.gradient, point.gradient));
    steps.kept.push_back(-point.change(OptimizerKind::kSgd, rate));
  }
  return steps;
}

LineChart chart_of(const std::vector<Steps>& all) {
  return line_chart("A step of length η |g|, first seed", log_axis("η"), log_axis("loss"),
                    {series_by("η |g|²", all, &Steps::rate,
                               [](const Steps& steps) { return steps.promised.front(); }),
                     series_by("what the loss falls by", all, &Steps::rate,
                               [](const Steps& steps) { return steps.kept.front(); })});
}

// How much of what the line leaves is the curvature's: the slope of one against the other over all
// points. A ratio at each would divide by a curvature that can be about 0.
double share_of_curvature(const std::vector<Point>& points, const Steps& steps) {
  double along = 0, squares = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const double bent = steps.rate * steps.rate * points[i].curvature / 2;
    along += (steps.promised[i] - steps.kept[i]) * bent;
    squares += bent * bent;
  }
  return along / squares;
}

// What the loss falls by in a step of Adam, over η Σ |g_i|.
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

std::vector<Section> run(const LabContext& lab) {
  constexpr double kLargestSmallRate = 0.01, kTooLargeRate = 1000, kAdamRate = 1e-5;
  const std::vector<Point> points =
      over_seeds(lab, [&](uint64_t seed) { return make_point(lab, seed); });
  const std::vector<Steps> all =
      each_of(lab.numbers("rates"), [&](double rate) { return take_steps(points, rate); });
  if (all.size() < 2) fail("lab optimizer-step: a power needs two --rates at least");
  // The notes say nothing of steps. Nearest to this lab is that a matrix can be trained at all.
  Section section = make_section("optimizer-step.step", {}, {chart_of(all)});
  for (const Steps& steps : all) {
    const Finding finding =
        near(absl::StrCat("what the loss falls by, over η |g|², η = ", steps.rate), 1,
             steps.ratios(), /*tolerance=*/0.1);
    section.add(steps.rate <= kLargestSmallRate ? finding : beyond(finding));
  }
  // The two smallest rates, at which what grows as η³ is not seen yet.
  const Steps &first = all[0], &second = all[1];
  const double power = std::log(second.rest() / first.rest()) / std::log(second.rate / first.rate);
  section.add(between("power of η by which the rest grows", 1.9, 2.1, power));
  section.add(exact(absl::StrCat("the rest over η² gᵀ H g / 2, η = ", first.rate), 1,
                    share_of_curvature(points, first), /*tolerance=*/0.05));
  section.add(near(absl::StrCat("Adam: the same over η Σ |g_i|, η = ", kAdamRate), 1,
                   ratios_of_adam(points, kAdamRate), 0.02));
  const double largest_fall = std::ranges::max(take_steps(points, kTooLargeRate).kept);
  section.add(below(absl::StrCat("what the loss falls by at η = ", kTooLargeRate, ", the most"), 0,
                    largest_fall));
  return {section};
}

}  // namespace

Lab optimizer_step_lab() { return make_lab("optimizer-step", run); }

}  // namespace qkv
