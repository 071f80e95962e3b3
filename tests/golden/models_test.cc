#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "framework/optim/optimizer.h"
#include "models/model.h"
#include "tests/golden/golden_file.h"

namespace qkv {
namespace {

using golden::absolute_difference;
using golden::GoldenFile;
using golden::relative_difference;

// Tolerances: relative to the largest number of a tensor, where nothing else is said.
struct Precision {
  std::string name;
  DType dtype;
  bool bf16_products;
  double relative;  // logits, loss, gradients
  double absolute;  // what is zero by mathematics
  double training;  // losses, norms and weights, over ten steps of AdamW
};
const Precision kF64 = {"f64", DType::f64, false, 1e-9, 1e-12, 1e-8};
const Precision kF32 = {"f32", DType::f32, false, 1e-4, 1e-5, 1e-4};
// Each operand is off by up to 2^-8 = 0.004, and a gradient is what is left of several products.
const Precision kBf16 = {"bf16", DType::f32, true, 0.1, 1e-3, 0.05};

std::ostream& operator<<(std::ostream& out, const Precision& precision) {
  return out << precision.name;
}

// A softmax doesn't change when the same number is added to a whole row, and that is what the bias
// of the keys adds: its gradient is zero, and what is left of it is rounding.
bool is_zero_by_mathematics(const std::string& parameter) {
  return absl::EndsWith(parameter, "attention.key.bias");
}

template <class E>
E choice(const GoldenFile& file, const char* key) {
  return value_of<E>(file.text(key)).value();
}

ModelOptions options_of(const GoldenFile& file) {
  ModelOptions options = {.kind = file.text("kind"),
                          .num_layers = file.integer("num_layers"),
                          .d_model = file.integer("d_model"),
                          .num_heads = file.integer("num_heads"),
                          .d_ff = file.integer("d_ff"),
                          .position = choice<Position>(file, "position"),
                          .sinusoidal_scale = file.number("sinusoidal_scale"),
                          .learn_sinusoidal_scale = false,
                          .norm = choice<NormPlace>(file, "norm"),
                          .norm_kind = choice<NormKind>(file, "norm_kind"),
                          .activation = choice<Activation>(file, "activation"),
                          .dropout = 0.0,
                          .scale_scores = file.flag("scale_scores"),
                          .tie_embeddings = file.flag("tie_embeddings"),
                          .bias = file.flag("bias"),
                          .attention = {.projections = choice<Projections>(file, "projections"),
                                        .heads = choice<Heads>(file, "heads"),
                                        .num_key_value_heads = file.integer("num_key_value_heads"),
                                        .window = file.integer("window"),
                                        .causal = file.flag("causal"),
                                        .scale = file.number("scale")}};
  if (options.kind == "classifier") {
    options.pool = choice<Pool>(file, "pool");
    options.patch_size = file.integer("patch_size");
  }
  return options;
}

DataShape data_of(const GoldenFile& file) {
  DataShape data = {.vocabulary_size = file.integer("vocabulary"),
                    .max_length = file.integer("length"),
                    .source_length = file.integer("source_length")};
  if (file.text("kind") == "classifier") {
    data.classes = file.integer("classes");
    data.channels = file.integer("channels");
    data.height = file.integer("height");
    data.width = file.integer("width");
  }
  return data;
}

std::vector<Tensor> inputs_of(const GoldenFile& file) {
  std::vector<Tensor> inputs = {file.tensor("inputs")};
  for (const char* more : {"inputs.1", "inputs.2"}) {
    if (file.contains(more)) inputs.push_back(file.tensor(more));
  }
  return inputs;
}

Model load_model(const GoldenFile& file, const Precision& precision) {
  Model model(options_of(file), data_of(file),
              Initializer(RandomStream(1), precision.dtype, precision.bf16_products));
  for (const NamedParameter& p : parameters(model)) {
    const Tensor weight = file.tensor("weight." + p.name, precision.dtype);
    EXPECT_EQ(weight.shape(), p.tensor.shape()) << p.name;
    Array array = p.tensor.array();
    std::memcpy(array.mutable_raw(), weight.array().raw(), array.bytes());
  }
  return model;
}

// The largest relative error so far, for the record of the test.
class Errors {
 public:
  void expect_within(double tolerance, double error, const std::string& what) {
    EXPECT_LE(error, tolerance) << what;
    largest_ = std::max(largest_, error);
  }
  std::string largest() const { return absl::StrFormat("%.2g", largest_); }

 private:
  double largest_ = 0;
};

class ModelGoldenTest : public testing::TestWithParam<std::tuple<std::string, Precision>> {};

TEST_P(ModelGoldenTest, ParametersAreNamedAsInTheFile) {
  const GoldenFile file(std::get<0>(GetParam()));
  std::vector<std::string> names;
  for (const NamedParameter& p : parameters(load_model(file, kF64))) names.push_back(p.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, file.names_under("weight."));
}

TEST_P(ModelGoldenTest, LogitsLossAndGradientsAreThoseOfPyTorch) {
  const auto& [name, precision] = GetParam();
  const GoldenFile file(name);
  const Model model = load_model(file, precision);
  ForwardContext context;
  const Tensor logits = model(inputs_of(file), context);
  const Tensor loss = cross_entropy(logits, file.tensor("targets"),
                                    {.label_smoothing = file.number("label_smoothing")});
  const Gradients gradients = backward(loss);

  Errors errors;
  errors.expect_within(precision.relative, relative_difference(logits, file.tensor("logits")),
                       "logits");
  errors.expect_within(precision.relative, relative_difference(loss, file.tensor("loss")), "loss");
  for (const NamedParameter& p : parameters(model)) {
    const Tensor expected = file.tensor("gradient." + p.name);
    if (is_zero_by_mathematics(p.name)) {
      EXPECT_LE(absolute_difference(gradients[p.tensor], expected), precision.absolute) << p.name;
    } else {
      errors.expect_within(precision.relative, relative_difference(gradients[p.tensor], expected),
                           p.name);
    }
  }
  RecordProperty("largest_relative_error", errors.largest());
}

INSTANTIATE_TEST_SUITE_P(
    Models, ModelGoldenTest,
    testing::Combine(testing::Values("pre_norm", "post_norm", "rms_norm", "normless", "smoothing",
                                     "encoder_decoder", "encoder_decoder_post", "rotary", "alibi",
                                     "relative", "narrow", "wide", "bare", "vision_transformer",
                                     "classifier"),
                     testing::Values(kF64, kF32, kBf16)),
    [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param).name; });

class TrainingGoldenTest : public testing::TestWithParam<Precision> {};

TEST_P(TrainingGoldenTest, TenStepsOfAdamWAreThoseOfPyTorch) {
  const Precision& precision = GetParam();
  const GoldenFile file("training");
  const Model model = load_model(file, precision);
  const std::vector<NamedParameter> named = parameters(model);
  const auto optimizer = make_optimizer({.kind = OptimizerKind::kAdamW,
                                         .learning_rate = file.number("learning_rate"),
                                         .betas = {file.number("beta1"), file.number("beta2")},
                                         .epsilon = file.number("epsilon"),
                                         .weight_decay = file.number("weight_decay")},
                                        named);
  const Tensor inputs = file.tensor("inputs"), targets = file.tensor("targets");  // [steps, B, T]
  const Shape batch = inputs.shape().without(0);
  const std::vector<double> losses = file.tensor("losses").to_vector();
  const std::vector<double> norms = file.tensor("gradient_norms").to_vector();

  Errors loss_errors, norm_errors, weight_errors;
  for (int64_t step = 0; step < inputs.dim(0); ++step) {
    const auto at_step = [&](const Tensor& x) {
      const int64_t* first = x.array().data<int64_t>() + step * batch.size();
      return Tensor(Array::of(batch, std::span(first, static_cast<size_t>(batch.size()))));
    };
    const auto i = static_cast<size_t>(step);
    const std::string what = absl::StrFormat("step %d", step);
    ForwardContext context;
    const std::vector<Tensor> read = {at_step(inputs)};
    const Tensor loss = cross_entropy(model(read, context), at_step(targets));
    loss_errors.expect_within(precision.training, std::abs(loss.item() - losses[i]) / losses[i],
                              what + ": loss");
    const Gradients by_tensor = backward(loss);
    std::vector<Tensor> gradients;
    for (const NamedParameter& p : named) gradients.push_back(by_tensor[p.tensor]);
    const double norm = global_norm(gradients);
    norm_errors.expect_within(precision.training, std::abs(norm - norms[i]) / norms[i],
                              what + ": norm of the gradient");
    optimizer->step(gradients, file.number("learning_rate"),
                    clip_scale(norm, file.number("grad_clip")));
  }
  for (const NamedParameter& p : named) {
    // AdamW blows the rounding of a gradient that should be zero up to steps of its own size.
    if (precision.dtype == DType::f32 && is_zero_by_mathematics(p.name)) continue;
    weight_errors.expect_within(
        precision.training, relative_difference(p.tensor, file.tensor("final." + p.name)), p.name);
  }
  RecordProperty("largest_relative_error_of_loss", loss_errors.largest());
  RecordProperty("largest_relative_error_of_gradient_norm", norm_errors.largest());
  RecordProperty("largest_relative_error_of_final_weight", weight_errors.largest());
}

INSTANTIATE_TEST_SUITE_P(Precisions, TrainingGoldenTest, testing::Values(kF64, kF32, kBf16),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace qkv
