#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/io/safetensors.h"
#include "framework/ops/ops.h"
#include "models/model.h"

namespace qkv {
namespace {

// One of the files beside this one; make_golden.py says what is in them.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& name) {
    const std::string path = absl::StrCat(QKV_SOURCE_DIR "/tests/golden/", name, ".safetensors");
    const TensorFile file = read_safetensors(path).value();
    metadata_ = file.metadata;
    for (const NamedArray& tensor : file.tensors) arrays_.emplace(tensor.name, tensor.array);
  }

  // Numbers are converted to `dtype`; indices and masks stay what they are.
  Tensor tensor(const std::string& name, DType dtype = DType::f64) const {
    const Array& array = arrays_.at(name);
    if (!is_floating(array.dtype())) return Tensor(array.copy());
    return Tensor(Array::of(array.shape(), dtype, array.to_vector()));
  }
  bool contains(const std::string& name) const { return arrays_.contains(name); }

  const std::string& text(const std::string& key) const { return metadata_.at(key); }
  double number(const std::string& key) const { return std::stod(text(key)); }
  int64_t integer(const std::string& key) const { return std::stoll(text(key)); }
  bool flag(const std::string& key) const { return text(key) == "true"; }

 private:
  std::map<std::string, Array> arrays_;
  std::map<std::string, std::string> metadata_;
};

// max|actual - expected|; infinite where a number is not finite or the shapes differ.
double absolute_difference(const Tensor& actual, const Tensor& expected) {
  if (actual.shape() != expected.shape()) return INFINITY;
  const std::vector<double> a = actual.to_vector(), b = expected.to_vector();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!std::isfinite(difference)) return INFINITY;
    largest = std::max(largest, difference);
  }
  return largest;
}

// The same divided by max|expected|.
double relative_difference(const Tensor& actual, const Tensor& expected) {
  const double difference = absolute_difference(actual, expected);
  const Tensor zero = zeros(expected.shape(), expected.dtype());
  return difference == 0 ? 0 : difference / absolute_difference(expected, zero);
}

// Tolerances: relative to the largest number of a tensor, where nothing else is said.
struct Precision {
  std::string name;
  DType dtype;
  bool bf16_products;
  double relative;  // logits, loss, gradients
  double absolute;  // what is zero by mathematics
};
const Precision kF64 = {"f64", DType::f64, false, 1e-9, 1e-12};
const Precision kF32 = {"f32", DType::f32, false, 1e-4, 1e-5};
// Each operand is off by up to 2^-8 = 0.004, and a gradient is what is left of several products.
const Precision kBf16 = {"bf16", DType::f32, true, 0.1, 1e-3};

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

class ModelGoldenTest : public testing::TestWithParam<std::tuple<std::string, Precision>> {};

TEST_P(ModelGoldenTest, LogitsLossAndGradientsAreThoseOfPyTorch) {
  const auto& [name, precision] = GetParam();
  const GoldenFile file(name);
  const Model model = load_model(file, precision);
  ForwardContext context;
  const Tensor logits = model(inputs_of(file), context);
  const Tensor loss = cross_entropy(logits, file.tensor("targets"),
                                    {.label_smoothing = file.number("label_smoothing")});
  const Gradients gradients = backward(loss);

  EXPECT_LE(relative_difference(logits, file.tensor("logits")), precision.relative);
  EXPECT_LE(relative_difference(loss, file.tensor("loss")), precision.relative);
  for (const NamedParameter& p : parameters(model)) {
    const Tensor expected = file.tensor("gradient." + p.name);
    if (is_zero_by_mathematics(p.name)) {
      EXPECT_LE(absolute_difference(gradients[p.tensor], expected), precision.absolute) << p.name;
    } else {
      EXPECT_LE(relative_difference(gradients[p.tensor], expected), precision.relative) << p.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, ModelGoldenTest,
    testing::Combine(testing::Values("pre_norm", "post_norm", "rms_norm", "normless",
                                     "encoder_decoder", "encoder_decoder_post", "rotary", "alibi",
                                     "relative", "narrow", "wide", "bare", "vision_transformer",
                                     "classifier"),
                     testing::Values(kF64, kF32, kBf16)),
    [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param).name; });

}  // namespace
}  // namespace qkv
