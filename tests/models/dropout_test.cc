// Where dropout sets numbers to zero.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "framework/nn/trace.h"
#include "tests/models/every_choice.h"

namespace qkv {
namespace {

constexpr double kShare = 0.25;
constexpr int64_t kVocabulary = 7, kRows = 6, kLength = 8;

ModelOptions small() {
  return {.num_layers = 2, .d_model = 16, .num_heads = 2, .d_ff = 12, .patch_size = 2};
}

// What a forward pass of training notes.
Trace traced(const ChosenModel& chosen, double dropout) {
  ModelOptions options = chosen.options;
  options.dropout = dropout;
  const Model model(options, data_for(chosen, kLength, kVocabulary),
                    Initializer(RandomStream(1), DType::f64));
  const ModelBatch batch = batch_for(chosen, kRows, kLength, kVocabulary);
  Trace trace;
  ForwardContext context{.training = true};
  const Tracing tracing(trace);
  model(batch.inputs, context);
  return trace;
}

// Paths of what dropout is the last to change: what the first block of a stack reads, what each
// layer of a block gives back, and the weights of attention.
bool is_dropped(const std::string& path) {
  if (path.ends_with("blocks.0.input")) return true;
  const std::string name = path.substr(path.rfind('.') + 1);
  if (name == "dropped_weights") return true;
  if (name == "cross_attention" || name == "feed_forward") return true;
  return std::ranges::count(mixer_kinds(), name, &MixerKind::name) != 0;
}

std::vector<bool> zeros_of(const Tensor& tensor) {
  std::vector<bool> zeros;
  for (const double x : tensor.to_vector()) zeros.push_back(x == 0);
  return zeros;
}

TEST(ModelDropoutTest, EveryLayerDropsNumbersOfItsOwnAndNoOthers) {
  for (const ChosenModel& chosen : every_choice(small())) {
    SCOPED_TRACE(chosen.name);
    const Trace with = traced(chosen, kShare), without = traced(chosen, 0);
    std::map<std::vector<bool>, std::string> seen;
    for (const std::string& path : with.paths()) {
      if (!is_dropped(path)) continue;
      // attention without dropout notes no weights after it
      const bool is_of_weights = path.ends_with("dropped_weights");
      const std::string before =
          is_of_weights ? path.substr(0, path.rfind('.')) + ".weights" : path;
      const std::vector<bool> zeros = zeros_of(with[path]);
      const std::vector<bool> hidden = zeros_of(is_of_weights ? with[before] : without[before]);
      double dropped = 0, all = 0;
      for (size_t i = 0; i < zeros.size(); ++i) {
        if (hidden[i]) continue;
        all += 1;
        dropped += zeros[i];
      }
      // six standard deviations
      EXPECT_NEAR(dropped, kShare * all, 6 * std::sqrt(kShare * (1 - kShare) * all)) << path;
      EXPECT_GT(dropped, 0) << path;
      const auto [other, is_new] = seen.emplace(zeros, path);
      EXPECT_TRUE(is_new) << path << " and " << other->second;
    }
  }
}

}  // namespace
}  // namespace qkv
