// A step against the gradient: what it promises, and what it keeps.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/autograd/hessian.h"
#include "framework/optim/optimizer.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"
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
    ForwardContext context;
    return cross_entropy(with_parameters(model, numbers)(tokens, context), targets);
  }
};

Tensor random_tokens(RandomStream random, const Shape& shape, uint64_t vocabulary) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < shape.size(); ++i) {
    tokens.push_back(static_cast<int64_t>(random.below(vocabulary)));
  }
  return Tensor(Array::of(shape, tokens));
}

Setting make_setting(const LabContext& lab, uint64_t seed) {
  constexpr int64_t kVocabulary = 8, kBatch = 4, kLength = 6;
  ModelOptions options;
  options.num_layers = lab.integer("layers");
  options.d_model = lab.integer("d");
  options.num_heads = 2;
  options.d_ff = 2 * options.d_model;
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

Section line_section(const LabContext& lab, const std::vector<Point>& points) {
  Section section = {
      .claims = {{"A35", "矩阵W都是可以训练的,起到一个缓冲的作用。",
                  "The matrices W can be trained, they are a buffer."}},
      .formula = "L(w - η g) = L(w) - η |g|² + η² gᵀ H g / 2 - …",
      .prediction =
          "A small step η against the gradient g lowers the loss by η |g|²: the smaller "
          "the step, the more exactly. What is left of it is the curvature's, and "
          "grows as η².",
      .findings = {},
      .figures = {}};
  Series promised = {.name = "η |g|²"}, kept = {.name = "what the loss falls by"};
  std::vector<double> rates = lab.numbers("rates"), rest(rates.size());
  for (size_t i = 0; i < rates.size(); ++i) {
    const double rate = rates[i];
    std::vector<double> ratios;
    for (const Point& point : points) {
      const double predicted = -rate * product_of(point.gradient, point.gradient);
      const double actual = point.change(OptimizerKind::kSgd, rate);
      ratios.push_back(actual / predicted);
      rest[i] += std::abs(actual - predicted);
      if (&point != &points.front()) continue;
      promised.x.push_back(rate);
      promised.y.push_back(-predicted);
      kept.x.push_back(rate);
      kept.y.push_back(-actual);
    }
    const Finding finding = near(absl::StrCat("actual over -η |g|², η = ", rate), 1, ratios, 0.02);
    section.findings.push_back(rate <= 0.01 ? finding : beyond(finding));
  }
  const double exponent = fitted_exponent(std::span(rates).first(3), std::span(rest).first(3));
  section.findings.push_back(found("power of η by which the rest grows", "1.9 … 2.1",
                                   format_number(exponent), std::abs(exponent - 2) < 0.1));
  section.figures.push_back(LineChart{.title = "A step of length η |g|, first seed",
                                      .x_label = "η",
                                      .y_label = "loss",
                                      .log_x = true,
                                      .log_y = true,
                                      .series = {promised, kept}});
  section.condition = "the step is small";
  return section;
}

Section curve_section(const LabContext& lab, const std::vector<Point>& points) {
  const double rate = lab.numbers("rates")[0];
  std::vector<double> ratios, falls, far_changes;
  for (const Point& point : points) {
    const double squared = product_of(point.gradient, point.gradient);
    const double rest = point.change(OptimizerKind::kSgd, rate) + rate * squared;
    ratios.push_back(rest / (rate * rate * point.curvature / 2));
    double sizes = 0;
    for (const Tensor& each : point.gradient) {
      for (const double number : each.to_vector()) sizes += std::abs(number);
    }
    constexpr double kSmall = 1e-5;
    falls.push_back(point.change(OptimizerKind::kAdam, kSmall) / (-kSmall * sizes));
    far_changes.push_back(point.change(OptimizerKind::kSgd, 1000));
  }
  const double smallest = *std::ranges::min_element(far_changes);
  return {.claims = {{"A38", "从而使得训练过程中梯度保持稳定。",
                      "So that gradients stay stable in training."}},
          .formula = "rest = η² gᵀ H g / 2;   of Adam's first step: -η Σ |g_i|",
          .prediction =
              "What the line leaves is the curvature along the gradient. Too long a step "
              "makes the loss larger. Adam's first step moves each number by η, "
              "however small its gradient.",
          .findings = {near(absl::StrCat("rest over η² gᵀ H g / 2, η = ", rate), 1, ratios, 0.05),
                       near("Adam: actual over -η Σ |g_i|, η = 1e-05", 1, falls, 0.02),
                       found("smallest change of the loss at η = 1000", "above 0",
                             format_number(smallest), smallest > 0)}};
}

std::vector<Section> run(const LabContext& lab) {
  std::vector<Point> points;
  for (const uint64_t seed : lab.seeds()) points.push_back(make_point(lab, seed));
  return {line_section(lab, points), curve_section(lab, points)};
}

}  // namespace

Lab optimizer_step_lab() {
  return {.name = "optimizer-step",
          .question = "Does a step against the gradient keep what it promises?",
          .control = "the step goes in a random direction, as long as the gradient",
          .duration = "1 s",
          .options = {{"rates", "0.0001,0.001,0.01,0.1,1,10", "learning rates η, at least 3"},
                      {"layers", "1", "of the decoder"},
                      {"d", "8", "numbers of a token"},
                      {"seeds", "5", "models and batches"}},
          .run = run};
}

}  // namespace qkv
