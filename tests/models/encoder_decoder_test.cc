#include "models/encoder_decoder.h"

#include <gtest/gtest.h>

#include <functional>

#include "framework/graph/middleware.h"
#include "framework/graph/op.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using Tokens = std::vector<int64_t>;

const DataShape kData = {.vocabulary_size = 9, .max_length = 5, .source_length = 6};

EncoderDecoder make(const std::function<void(ModelOptions&)>& change = nullptr) {
  ModelOptions options = {.num_layers = 2, .d_model = 8, .num_heads = 2, .d_ff = 12};
  if (change) change(options);
  return {options, kData, Initializer(RandomStream(3), DType::f64)};
}

Array row(const Tokens& tokens) { return Array::of({1, std::ssize(tokens)}, tokens); }

// [1, Tt, V]; `padded` tokens at the end of the source are padding.
Tensor logits(const EncoderDecoder& model, const Tokens& source, const Tokens& target,
              size_t padded = 0) {
  std::vector<Tensor> inputs = {Tensor(row(source)), Tensor(row(target))};
  if (padded > 0) {
    Array padding({1, std::ssize(source)}, DType::boolean);
    for (size_t i = 0; i < source.size(); ++i) {
      padding.mutable_data<bool>()[i] = i >= source.size() - padded;
    }
    inputs.emplace_back(padding);
  }
  ForwardContext context;
  return model(inputs, context);
}

TEST(EncoderDecoderTest, ATargetTokenSeesThoseBeforeItAndTheWholeSource) {
  const EncoderDecoder model = make();
  const Tensor a = logits(model, {1, 2, 3}, {4, 5, 6, 7});
  const Tensor later = logits(model, {1, 2, 3}, {4, 5, 8, 8});
  EXPECT_EQ(slice(a, 1, 0, 2).to_vector(), slice(later, 1, 0, 2).to_vector());
  EXPECT_NE(slice(a, 1, 2, 2).to_vector(), slice(later, 1, 2, 2).to_vector());
  for (const Tokens& source : {Tokens{8, 2, 3}, Tokens{1, 2, 8}}) {
    const Tensor other = logits(model, source, {4, 5, 6, 7});
    for (int64_t t = 0; t < 4; ++t) {
      EXPECT_NE(slice(a, 1, t, 1).to_vector(), slice(other, 1, t, 1).to_vector()) << t;
    }
  }
}

TEST(EncoderDecoderTest, PaddingOfTheSourceIsAsIfItWereNotThere) {
  const EncoderDecoder model = make();
  const Tensor alone = logits(model, {1, 2, 3}, {4, 5, 6});
  expect_near(logits(model, {1, 2, 3, 0, 0}, {4, 5, 6}, /*padded=*/2), alone, 1e-14);
  EXPECT_NE(logits(model, {1, 2, 3, 0, 0}, {4, 5, 6}).to_vector(), alone.to_vector());
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
