#include "models/encoder_decoder.h"

#include <gtest/gtest.h>

#include "framework/graph/middleware.h"
#include "framework/graph/op.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using Tokens = std::vector<int64_t>;

const DataShape kData = {.vocabulary_size = 9, .max_length = 5, .source_length = 6};

EncoderDecoder make() {
  const ModelOptions options = {.num_layers = 2, .d_model = 8, .num_heads = 2, .d_ff = 12};
  return {options, kData, Initializer(RandomStream(3), DType::f64)};
}

Array row(const Tokens& tokens) { return Array::of({1, std::ssize(tokens)}, tokens); }

Tensor logits(const EncoderDecoder& model, const Tokens& source, const Tokens& target) {
  const std::vector<Tensor> inputs = {Tensor(row(source)), Tensor(row(target))};
  ForwardContext context;
  return model(inputs, context);
}

// Sees how often the encoder's first layer projects anything.
class SourceReadings final : public Middleware {
 public:
  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override {
    if (op->name() == "linear" && Scope::current() == "encoder.blocks.0.attention.query") ++count;
    return next(op, x);
  }
  int count = 0;
};

TEST(EncoderDecoderTest, WithACacheTheSourceIsReadOnce) {
  const EncoderDecoder model = make();
  KeyValueCache cache;
  const SourceReadings readings;
  const Array prompts = row({1, 2, 3});
  model.next_logits(prompts, Array(), &cache);
  model.next_logits(prompts, row({4}), &cache);
  model.next_logits(prompts, row({4, 5}), &cache);
  EXPECT_EQ(readings.count, 1);
}

TEST(EncoderDecoderTest, SaysWhatDoesNotFit) {
  const EncoderDecoder model = make();
  ForwardContext context;
  const std::vector<Tensor> alone = {Tensor(row({1, 2}))};
  expect_error(
      "encoder_decoder: needs a source [B, Ts], a target [B, Tt] and, if the source has padding, "
      "its padding, not 1 input",
      [&] { model(alone, context); });
  expect_error("transformer: there are learned positions for 6 tokens, but not for 7 (in encoder)",
               [&] {
                 logits(model, {1, 2, 3, 4, 5, 6, 7}, {1});
               });
  expect_error("transformer: there are learned positions for 5 tokens, but not for 6 (in decoder)",
               [&] {
                 logits(model, {1}, {1, 2, 3, 4, 5, 6});
               });
}

}  // namespace
}  // namespace qkv
