#include "models/model.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/memory/storage.h"
#include "framework/ops/ops.h"
#include "models/mixer_kind.h"
#include "models/model_examples.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"
#include "tests/models/every_choice.h"

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

// Also of a model that shares its embedding with its head, and of one without norms.
TEST(ModelTest, TheLeavesOfTheLossAreTheParametersVisited) {
  constexpr int64_t kLength = 6, kVocabulary = 7;
  for (const Named<NormPlace>& norm : kNames<NormPlace>) {
    ModelOptions base = small("decoder");
    base.num_layers = 1;
    base.patch_size = 2;
    base.norm = norm.value;
    base.tie_embeddings = norm.value == NormPlace::kPre;
    for (const ChosenModel& chosen : every_choice(base)) {
      SCOPED_TRACE(chosen.name);
      const DataShape data = data_for(chosen, kLength, kVocabulary);
      const Model model(chosen.options, data, numbers());
      ForwardContext context;
      const Tensor y = model(batch_for(chosen, 2, kLength, kVocabulary).inputs, context);
      const Gradients gradients = backward(mean(y * y));
      std::set<std::string> names;
      for (const NamedParameter& p : parameters(model)) {
        EXPECT_TRUE(gradients.contains(p.tensor)) << p.name;
        EXPECT_TRUE(names.insert(p.name).second) << p.name << " is there twice";
      }
      EXPECT_EQ(gradients.size(), names.size());
    }
  }
}

TEST(ModelTest, SaysWhatDoesNotFit) {
  expect_error("model: there is no kind \"perceptron\"",
               [] { Model(small("perceptron"), kData, numbers()); });
  const Model model(small("decoder"), kData, numbers());
  const std::vector<Tensor> two(2, Tensor(Array::full({1, 3}, DType::i64, 0)));
  ForwardContext context;
  expect_error("decoder: needs one input, tokens [B, T], not 2", [&] { model(two, context); });
}

TEST(MixerKindTest, SaysItWhenThereIsNone) {
  expect_error("model: there is no mixer \"spoon\"", [] { find_mixer("spoon"); });
}

TEST(ModelExamplesTest, GradientsOfBothOrdersAreRight) {
  expect_no_false_alarm(model_examples(), 1);
}

// With these seeds the remainder of a gradient that is right changes its sign between two steps, so
// that it does not fall as h² there.
TEST(ModelExamplesTest, ARemainderThatCrossesZeroIsNoKink) {
  for (const OpExamples& model : model_examples()) {
    if (model.op != "Classifier") continue;
    for (const OpExample& example : model.examples) {
      for (const uint64_t seed : {295, 514}) {
        const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(seed));
        const GradcheckReport report = gradcheck(example.f, inputs, {.seed = seed});
        EXPECT_TRUE(report.passed()) << example.name << ", seed " << seed << "\n"
                                     << report.to_text();
      }
    }
  }
}

}  // namespace
}  // namespace qkv
