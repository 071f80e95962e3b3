#include "models/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/memory/storage.h"

namespace qkv {
namespace {

const DataShape kData = {.vocabulary_size = 7, .max_length = 5, .source_length = 6, .classes = 7};

ModelOptions small(const std::string& kind) {
  ModelOptions options;
  options.kind = kind;
  options.d_model = 8;
  options.num_heads = 2;
  options.d_ff = 12;
  return options;
}

Initializer numbers() { return {RandomStream(1), DType::f64}; }

TEST(ModelTest, EveryKindThatAConfigCanNameIsMade) {
  for (const ModelKind& kind : model_kinds()) {
    const Model model(small(kind.name), kData, numbers());
    EXPECT_GT(parameter_count(parameters(model)), 0) << kind.name;
    EXPECT_EQ(model.data().max_length, kData.max_length) << kind.name;
  }
}

TEST(ModelTest, OfShapesOnlyHasTheSameParametersAndNoNumbers) {
  for (const ModelKind& kind : model_kinds()) {
    const auto made = parameters(Model(small(kind.name), kData, numbers()));
    const uint64_t before = allocator_statistics().bytes_in_use;
    const Model plan(small(kind.name), kData, Initializer::shapes_only(DType::f64));
    EXPECT_EQ(allocator_statistics().bytes_in_use, before) << kind.name;
    const auto planned = parameters(plan);
    ASSERT_EQ(planned.size(), made.size()) << kind.name;
    for (size_t i = 0; i < made.size(); ++i) {
      EXPECT_EQ(planned[i].name, made[i].name);
      EXPECT_EQ(planned[i].tensor.describe(), made[i].tensor.describe()) << made[i].name;
      EXPECT_FALSE(planned[i].tensor.array().defined()) << made[i].name;
    }
  }
}

TEST(ModelTest, TheLargestModelOfShapesOnlyTakesNoMemory) {
  ModelOptions huge;
  huge.num_layers = 100;
  huge.d_model = huge.d_ff = 1 << 16;
  huge.position = Position::kSinusoidal;
  const DataShape data = {.vocabulary_size = 1 << 16, .max_length = 1 << 16};
  const Model plan(huge, data, Initializer::shapes_only(DType::f32));
  EXPECT_GT(parameter_count(parameters(plan)), int64_t{100} * 6 * huge.d_model * huge.d_model);
}

// So large a one that nothing is left of what is normalized.
TEST(ModelTest, EveryNormAddsTheEpsilonOfTheOptions) {
  for (const Named<NormKind>& norm : kNames<NormKind>) {
    ModelOptions options = small("decoder");
    options.norm_kind = norm.value;
    options.norm_epsilon = 1e30;
    const Model model(options, kData, numbers());
    const Tensor token(Array::full({1, 1}, DType::i64, 1));
    ForwardContext context;
    for (const double logit : model({&token, 1}, context).to_vector()) {
      EXPECT_NEAR(logit, 0, 1e-12) << norm.name;
    }
  }
}

TEST(ModelTest, SaysItWhenThereIsNoSuchKind) {
  try {
    const Model model(small("perceptron"), kData, numbers());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "model: there is no kind \"perceptron\"");
  }
}

TEST(ModelTest, SaysItWhenABatchHasOtherInputsThanItReads) {
  const Model model(small("decoder"), kData, numbers());
  const std::vector<Tensor> two(2, Tensor(Array::full({1, 3}, DType::i64, 0)));
  ForwardContext context;
  try {
    model(two, context);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "decoder: needs one input, tokens [B, T], not 2");
  }
}

}  // namespace
}  // namespace qkv
