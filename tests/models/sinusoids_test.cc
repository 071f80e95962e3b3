// The sinusoidal positions of a model, and how their scale is learned.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "framework/nn/mixers/position.h"
#include "framework/nn/trace.h"
#include "tests/models/every_choice.h"

namespace qkv {
namespace {

constexpr int64_t kLength = 5, kWidth = 8;

std::vector<double> positions(double scale, bool learned, double gain, double init_std = 0.02) {
  ChosenModel chosen;
  chosen.options = {.num_layers = 1, .d_model = kWidth, .num_heads = 2, .d_ff = 8};
  chosen.options.position = Position::kSinusoidal;
  chosen.options.init_std = init_std;
  chosen.options.sinusoidal_scale = scale;
  chosen.options.learn_sinusoidal_scale = learned;
  const Model model(chosen.options, data_for(chosen, kLength, 7),
                    Initializer(RandomStream(1), DType::f64));
  for (const NamedParameter& p : parameters(model)) {
    if (p.name != "position_gain") continue;
    EXPECT_TRUE(learned);
    Array array = p.tensor.array();
    array.mutable_data<double>()[0] = gain;
  }
  Trace trace;
  ForwardContext context;
  const Tracing tracing(trace);
  model(batch_for(chosen, 2, kLength, 7).inputs, context);
  return trace["positions"].to_vector();
}

void expect_scaled(const std::vector<double>& seen, double scale) {
  const std::vector<double> e = sinusoidal_positions(kLength, kWidth, DType::f64).to_vector();
  ASSERT_EQ(seen.size(), e.size());
  for (size_t i = 0; i < e.size(); ++i) EXPECT_NEAR(seen[i], scale * e[i], 1e-14);
}

// scale exp(10 g)
TEST(ModelSinusoidsTest, TheLearnedScaleGrowsByFactors) {
  expect_scaled(positions(0.02, /*learned=*/true, 0), 0.02);
  expect_scaled(positions(0.02, /*learned=*/true, 0.3), 0.02 * std::exp(3.0));
  expect_scaled(positions(0.02, /*learned=*/true, -0.1), 0.02 * std::exp(-1.0));
}

TEST(ModelSinusoidsTest, AScaleOfZeroIsThatOfTheEmbeddings) {
  for (const double init_std : {0.02, 0.1}) {
    expect_scaled(positions(0, /*learned=*/false, 0, init_std), init_std);
    expect_scaled(positions(0, /*learned=*/true, 0.3, init_std), init_std * std::exp(3.0));
    expect_scaled(positions(0.5, /*learned=*/false, 0, init_std), 0.5);
  }
}

}  // namespace
}  // namespace qkv
