// Every op that a model uses is an op whose examples are checked.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/each_of.h"
#include "framework/graph/middleware.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/op_examples.h"
#include "models/model.h"
#include "tests/models/every_choice.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 7, kLength = 6;

// Sees the name of every op that runs, and of every op whose backward does.
class OpNames final : public Middleware {
 public:
  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override {
    names.emplace(op->name());
    return next(op, x);
  }
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override {
    names.emplace(op.name());
    return next(op, saved, dy);
  }
  std::set<std::string> names;
};

std::vector<ChosenModel> variants() {
  ModelOptions small = {.num_layers = 2, .d_model = 8, .num_heads = 2, .d_ff = 12};
  small.patch_size = 2;
  std::vector<ChosenModel> all = every_choice(small);
  for (const NormPlace norm : {NormPlace::kPre, NormPlace::kPost, NormPlace::kNone}) {
    for (const NormKind norm_kind : {NormKind::kLayer, NormKind::kRms}) {
      for (const Named<Position>& position : kNames<Position>) {
        for (const Activation activation :
             {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu, Activation::kSilu}) {
          for (const bool plain : {true, false}) {
            ModelOptions options = small;
            options.norm = norm;
            options.norm_kind = norm_kind;
            options.position = position.value;
            options.activation = activation;
            options.dropout = plain ? 0.0 : 0.2;
            options.tie_embeddings = options.bias = options.scale_scores = plain;
            all.push_back({"", options});
          }
        }
      }
    }
  }
  return all;
}

void train_and_evaluate(const ChosenModel& chosen, DType dtype) {
  const Model model(chosen.options, data_for(chosen, kLength, kVocabulary),
                    Initializer(RandomStream(1), dtype));
  const ModelBatch batch = batch_for(chosen, 2, kLength, kVocabulary);
  for (const bool training : {true, false}) {
    ForwardContext context{.training = training, .random = RandomStream(2)};
    backward(cross_entropy(model(batch.inputs, context), batch.targets));
  }
}

TEST(ModelCoverageTest, EveryOpOfEveryModelHasExamples) {
  std::set<std::string> used;
  {
    OpNames ops;
    for (const ChosenModel& chosen : variants()) {
      for (const DType dtype : {DType::f32, DType::f64}) train_and_evaluate(chosen, dtype);
    }
    used = std::move(ops.names);
  }
  EXPECT_GT(used.size(), 15u);
  EXPECT_TRUE(used.contains("dropout"));

  const std::vector<std::string> checked = each_of(op_examples(), &OpExamples::op);
  for (std::string name : used) {
    // Where a backward is an op of its own, the examples of the op run it.
    if (name.ends_with("_backward")) name.resize(name.size() - std::string("_backward").size());
    EXPECT_EQ(std::ranges::count(checked, name), 1) << name << " has no examples";
  }
}

}  // namespace
}  // namespace qkv
