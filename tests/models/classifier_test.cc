#include "models/classifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

const DataShape kTokens = {.vocabulary_size = 9, .max_length = 6, .classes = 9};
const DataShape kImages = {
    .vocabulary_size = 3, .classes = 3, .channels = 2, .height = 4, .width = 6};

Classifier make(const DataShape& data, const std::function<void(ModelOptions&)>& change = nullptr) {
  ModelOptions options = {.num_layers = 1, .d_model = 8, .num_heads = 2, .d_ff = 12};
  options.patch_size = 2;
  if (change) change(options);
  return {options, data, Initializer(RandomStream(3), DType::f64)};
}

std::vector<double> logits(const Classifier& model, const std::vector<Tensor>& inputs) {
  ForwardContext context;
  return model(inputs, context).to_vector();
}

Tensor tokens(const std::vector<int64_t>& row) {
  return Tensor(Array::of({1, std::ssize(row)}, row));
}

Tensor pixels(const std::function<double(int64_t c, int64_t y, int64_t x)>& value) {
  Array image({1, 2, 4, 6}, DType::f32);
  float* out = image.mutable_data<float>();
  for (int64_t c = 0; c < 2; ++c) {
    for (int64_t y = 0; y < 4; ++y) {
      for (int64_t x = 0; x < 6; ++x) *out++ = static_cast<float>(value(c, y, x));
    }
  }
  return Tensor(image);
}

TEST(ClassifierTest, PaddingIsAsIfItWereNotThere) {
  for (const Pool pool : {Pool::kClassToken, Pool::kMean}) {
    const Classifier model = make(kTokens, [&](ModelOptions& o) { o.pool = pool; });
    Array padding({1, 5}, DType::boolean);
    for (int64_t t = 0; t < 5; ++t) padding.mutable_data<bool>()[t] = t >= 3;
    const std::vector<double> alone = logits(model, {tokens({1, 2, 3})});
    const std::vector<double> padded = logits(model, {tokens({1, 2, 3, 7, 8}), Tensor(padding)});
    for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(padded[i], alone[i], 1e-14);
    EXPECT_NE(logits(model, {tokens({1, 2, 3, 7, 8})}), alone);
    for (const NamedParameter& p : parameters(model)) {
      if (p.name != "token_embedding.weight") continue;
      Array weight = p.tensor.array();
      std::fill_n(weight.mutable_data<double>() + 7 * 8, 2 * 8, double{NAN});  // tokens 7 and 8
    }
    EXPECT_EQ(logits(model, {tokens({1, 2, 3, 7, 8}), Tensor(padding)}), padded);
  }
}

// Without positions the patches are a set: their order changes nothing, what is in them does.
TEST(ClassifierTest, APatchIsAToken) {
  const Classifier model = make(kImages, [](ModelOptions& o) { o.position = Position::kNone; });
  const auto value = [](int64_t c, int64_t y, int64_t x) {
    return static_cast<double>(c) + 0.3 * static_cast<double>(y) - 0.2 * static_cast<double>(x * x);
  };
  const std::vector<double> y = logits(model, {pixels(value)});
  const std::vector<double> patches_turned =
      logits(model, {pixels([&](auto c, auto row, auto x) { return value(c, row, (x + 2) % 6); })});
  const std::vector<double> pixels_turned =
      logits(model, {pixels([&](auto c, auto row, auto x) { return value(c, row, (x + 1) % 6); })});
  double difference = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(patches_turned[i], y[i], 1e-12);
    difference += std::abs(pixels_turned[i] - y[i]);
  }
  EXPECT_GT(difference, 1e-6);
}

TEST(ClassifierTest, AnswersAPromptWithOneToken) {
  const Classifier model = make(kTokens);
  const Array prompts = Array::of({2, 2}, std::vector<int64_t>{1, 2, 3, 4});
  EXPECT_EQ(model.next_logits(prompts, Array(), nullptr).shape(), (Shape{2, 9}));
  expect_error("classifier: the answer is one token, which is already written",
               [&] { model.next_logits(prompts, prompts, nullptr); });
}

TEST(ClassifierTest, SaysWhatDoesNotFit) {
  expect_error("classifier: patches of 4 x 4 pixels do not divide images of 4 x 6",
               [] { make(kImages, [](ModelOptions& o) { o.patch_size = 4; }); });
  expect_error("classifier: patches of 3 x 3 pixels do not divide images of 4 x 6",
               [] { make(kImages, [](ModelOptions& o) { o.patch_size = 3; }); });
  expect_error("classifier: patches of 0 x 0 pixels do not divide images of 4 x 6",
               [] { make(kImages, [](ModelOptions& o) { o.patch_size = 0; }); });
  const Classifier model = make(kImages);
  expect_error("classifier: needs pixels [B, 2, 4, 6]: pixels i64[1, 3]", [&] {
    logits(model, {tokens({1, 2, 3})});
  });
  expect_error("classifier: needs pixels alone, not 0 inputs", [&] { logits(model, {}); });
  expect_error("classifier: needs tokens [B, T], and their padding, not 3 inputs", [&] {
    const Tensor t = tokens({1});
    logits(make(kTokens), {t, t, t});
  });
}

}  // namespace
}  // namespace qkv
