// Layers, given what nobody should give them.

#include <gtest/gtest.h>

#include "framework/core/memory/out_of_memory.h"
#include "framework/nn/layer_examples.h"
#include "framework/nn/layers.h"
#include "framework/nn/mixers/attention.h"
#include "framework/nn/mixers/position.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
#include "tests/framework/ops/misuse_arguments.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

TEST(LayerMisuseTest, AnUndefinedInputOrParameterIsAnError) {
  for (const OpExamples& layer : layer_examples()) {
    for (const OpExample& example : layer.examples) {
      const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(1));
      for (size_t i = 0; i < inputs.size(); ++i) {
        // An undefined padding is none, and an undefined bias.
        const std::string name = i < example.input_names.size() ? example.input_names[i] : "";
        if (name == "padding" || name.ends_with("bias")) continue;
        std::vector<Tensor> changed = inputs;
        changed[i] = Tensor();
        EXPECT_NE(error_of([&] { example.f(changed); }), "")
            << layer.op << ", " << example.name << ", " << name;
      }
    }
  }
}

TEST(LayerMisuseTest, StrangeInputsAndParametersGiveATensorOrAnError) {
  for (const OpExamples& layer : layer_examples()) call_with_strange_tensors(layer);
}

TEST(LayerMisuseTest, AttentionNeedsHeadsThatDivideBothSequences) {
  Initializer init(RandomStream(1), DType::f64);
  MultiHeadAttention layer{.query = Linear(init, 4, 4, false, 1.0),
                           .key = Linear(init, 4, 4, false, 1.0),
                           .value = Linear(init, 4, 4, false, 1.0),
                           .output = Linear(init, 4, 4, false, 1.0),
                           .num_heads = 0,
                           .weight_dropout = {},
                           .output_dropout = {}};
  const Tensor x = zeros({1, 2, 4}, DType::f64);
  ForwardContext context;
  EXPECT_EQ(error_of([&] { layer(x, AttentionMask(), context); }),
            "attention: needs at least one head, not 0");
  layer.num_heads = 2;
  EXPECT_EQ(error_of([&] { layer(x, Tensor(), AttentionMask(), context); }),
            "attention: needs x [B, T, C] with C a multiple of 2 heads: x f64[1, 2, 4], source "
            "undefined");
  EXPECT_EQ(error_of([&] {
              layer(zeros({2, 4}, DType::f64), AttentionMask(), context);
            }),
            "attention: needs x [B, T, C] with C a multiple of 2 heads: x f64[2, 4]");
}

TEST(LayerMisuseTest, ADropoutThatIsNoProbabilityIsAnError) {
  ForwardContext context{.training = true};
  for (const double p : {-0.5, 1.0, 0.0 / 0.0}) {
    EXPECT_NE(error_of([&] { Dropout{p}(ones({2}), context); }), "") << p;
  }
}

TEST(LayerMisuseTest, LengthsThatNoMaskOrTableCanHaveAreErrors) {
  EXPECT_EQ(error_of([] { hidden_keys({.causal = true}, -1, 2); }),
            "hidden_keys: size -1 is negative");
  EXPECT_EQ(hidden_keys({}, kLarge, 0).shape(), (Shape{1, 1, kLarge, 0}));
  EXPECT_THROW(hidden_keys({}, kLarge, 1), OutOfMemory);
  EXPECT_EQ(error_of([] { sinusoidal_positions(-1, 4, DType::f32); }),
            "sinusoidal_positions: size -1 is negative");
  EXPECT_NE(error_of([] { sinusoidal_positions(kLarge, kLarge, DType::f32); }), "");
}

}  // namespace
}  // namespace qkv
