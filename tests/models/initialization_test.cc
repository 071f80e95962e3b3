// Which parameters a model has, and with what numbers they begin.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/every_choice.h"

namespace qkv {
namespace {

constexpr int64_t kLength = 8, kVocabulary = 11;

ModelOptions base() {
  return {.num_layers = 2, .d_model = 16, .num_heads = 2, .d_ff = 24, .patch_size = 2};
}

// GPT-2's deviations: init_std (its own is 0.02), and of the projections back into the residual
// stream that divided by the root of their number. Those of a recurrence are PyTorch's; sums of a
// depthwise convolution have as many fewer terms as the model has numbers.
double deviation_of(const ChosenModel& chosen, const std::string& name) {
  const ModelOptions& o = chosen.options;
  const auto ends = [&](const char* end) { return name.ends_with(end); };
  if (ends("_norm.weight")) return 0;  // ones
  if (ends(".bias") || ends("position_gain") || ends("distance_bias") || ends("learned.scores")) {
    return 0;
  }
  if (ends(".input.weight") || ends(".state.weight")) {
    const bool one_direction = name.starts_with("blocks.") && o.kind == Decoder::kName;
    const bool in_decoder = name.starts_with("decoder.");
    return 1 / std::sqrt(3.0 * (one_direction || in_decoder ? 16 : 8));
  }
  const bool has_source = name.starts_with("decoder.");
  const bool is_scaled = o.residual_init == ResidualInit::kScaled;
  const double back = o.init_std / (is_scaled ? std::sqrt(2.0 * (has_source ? 3 : 2)) : 1);
  if (ends("convolution.weight")) return back * (o.depthwise ? 4 : 1);
  return ends(".output.weight") || ends(".down.weight") ? back : o.init_std;
}

void expect_start(double init_std, ResidualInit residual_init = ResidualInit::kScaled) {
  ModelOptions options = base();
  options.init_std = init_std;
  options.residual_init = residual_init;
  for (const ChosenModel& chosen : every_choice(options)) {
    SCOPED_TRACE(chosen.name);
    const Model model(chosen.options, data_for(chosen, kLength, kVocabulary),
                      Initializer(RandomStream(1), DType::f64));
    std::set<double> first;
    for (const NamedParameter& p : parameters(model)) {
      const std::vector<double> values = p.tensor.to_vector();
      const double deviation = deviation_of(chosen, p.name);
      if (deviation == 0) {
        std::vector<double> start(values.size(), p.name.ends_with("_norm.weight") ? 1 : 0);
        if (p.name.ends_with("input.bias") && chosen.options.cell == Cell::kLstm) {
          const size_t gate = start.size() / 4;  // the second of four, which forgets
          std::fill_n(start.begin() + static_cast<ptrdiff_t>(gate), gate, 1);
        }
        EXPECT_EQ(values, start) << p.name;
        continue;
      }
      double squares = 0;
      for (const double value : values) squares += value * value;
      const auto count = static_cast<double>(values.size());
      // five deviations of what n normal numbers show of theirs
      EXPECT_NEAR(std::sqrt(squares / count), deviation, 5 * deviation / std::sqrt(2 * count))
          << p.name;
      EXPECT_TRUE(first.insert(values[0] / deviation).second) << p.name << " is like another";
    }
  }
}

TEST(InitializationTest, EveryModelStartsAsGpt2Does) { expect_start(0.02); }

TEST(InitializationTest, APlainBranchEndsInAWeightLikeAnyOther) {
  expect_start(0.1, ResidualInit::kPlain);
}

TEST(InitializationTest, WithoutBiasNoLayerHasOne) {
  ModelOptions options = base();
  options.bias = false;
  for (const ChosenModel& chosen : every_choice(options)) {
    const Model model(chosen.options, data_for(chosen, kLength, kVocabulary),
                      Initializer(RandomStream(1), DType::f64));
    for (const NamedParameter& p : parameters(model)) {
      EXPECT_FALSE(p.name.ends_with(".bias")) << chosen.name << ": " << p.name;
    }
  }
}

// The lengths of the tables, by name.
std::map<std::string, int64_t> position_tables(const std::string& kind, const DataShape& data) {
  ModelOptions options = base();
  options.kind = kind;
  std::map<std::string, int64_t> lengths;
  for (const NamedParameter& p :
       parameters(Model(options, data, Initializer(RandomStream(1), DType::f64)))) {
    if (p.name.ends_with("position_embedding.weight")) lengths[p.name] = p.tensor.dim(0);
  }
  return lengths;
}

TEST(InitializationTest, ATableOfPositionsIsAsLongAsWhatIsRead) {
  using Lengths = std::map<std::string, int64_t>;
  for (const auto& [length, source_length] : {std::pair(5, 9), std::pair(9, 5)}) {
    const DataShape data = {
        .vocabulary_size = 7, .max_length = length, .source_length = source_length, .classes = 7};
    EXPECT_EQ(position_tables("decoder", data), (Lengths{{"position_embedding.weight", length}}));
    EXPECT_EQ(position_tables("classifier", data),
              (Lengths{{"position_embedding.weight", length + 1}}));  // and the class token
    EXPECT_EQ(position_tables("encoder_decoder", data),
              (Lengths{{"encoder.position_embedding.weight", source_length},
                       {"decoder.position_embedding.weight", length}}));
  }
}

}  // namespace
}  // namespace qkv
