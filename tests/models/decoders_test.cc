#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/ops/ops.h"
#include "models/decoder.h"
#include "models/encoder_decoder.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 11;
constexpr int64_t kLength = 6;

ModelOptions small() { return {.num_layers = 2, .d_model = 8, .num_heads = 2, .d_ff = 16}; }

Decoder make(const ModelOptions& options) {
  return Decoder(options, {kVocabulary, kLength}, Initializer(RandomStream(3), DType::f64));
}

Tensor tokens(std::vector<int64_t> values) {
  const int64_t length = std::ssize(values);
  return Tensor(Array::of({1, length}, values));
}

std::vector<ModelOptions> variants() {
  std::vector<ModelOptions> all;
  for (const NormPlace norm : {NormPlace::kPre, NormPlace::kPost, NormPlace::kNone}) {
    for (const Named<Position>& position : kNames<Position>) {
      for (const bool tied : {true, false}) {
        ModelOptions options = small();
        options.norm = norm;
        options.position = position.value;
        options.tie_embeddings = tied;
        options.norm_kind = tied ? NormKind::kLayer : NormKind::kRms;
        options.activation = tied ? Activation::kGelu : Activation::kSilu;
        options.bias = tied;
        all.push_back(options);
      }
    }
  }
  const auto add = [&](const AttentionChoices& attention, Position position) {
    all.push_back(small());
    all.back().attention = attention;
    all.back().position = position;
  };
  for (const Named<Projections>& maps : kNames<Projections>) {
    add({.projections = maps.value, .window = 2}, Position::kRotary);
  }
  add({.heads = Heads::kNarrow}, Position::kAlibi);
  add({.heads = Heads::kWide, .num_key_value_heads = 1}, Position::kRelative);
  add({.num_key_value_heads = 1, .window = 1, .scale = 0.4}, Position::kLearned);
  for (const char* mixer : {"convolution", "recurrence", "learned", "uniform"}) {
    for (const bool one : {true, false}) {
      ModelOptions options = small();
      options.mixer = mixer;
      options.depthwise = one;
      options.cell = one ? Cell::kRnn : Cell::kLstm;
      options.bias = one;
      all.push_back(options);
    }
  }
  return all;
}

// The logits of `pieces`, read one after the other with a cache: [1, T, V].
Tensor read_in_pieces(const Decoder& model, const std::vector<std::vector<int64_t>>& pieces) {
  const NoGrad no_grad;
  KeyValueCache cache;
  std::vector<Tensor> logits;
  for (const std::vector<int64_t>& piece : pieces) {
    ForwardContext context;
    context.cache = &cache;
    context.first_position = cache.length();
    logits.push_back(model(tokens(piece), context));
  }
  return concat(logits, 1);
}

TEST(DecoderTest, ACacheHoldsNoMoreThanThePositions) {
  const Decoder model = make(small());
  expect_error("transformer: there are learned positions for 6 tokens, but not for 3 after 4", [&] {
    read_in_pieces(model, {{1, 2, 3, 4}, {5, 6, 7}});
  });
}

TEST(DecoderTest, PredictsFromThePastAlone) {
  for (const ModelOptions& options : variants()) {
    const Decoder model = make(options);
    ForwardContext context;
    const Tensor a = model(tokens({1, 2, 3, 4, 5, 6}), context);
    const Tensor b = model(tokens({1, 2, 3, 9, 9, 9}), context);
    EXPECT_EQ(slice(a, 1, 0, 3).to_vector(), slice(b, 1, 0, 3).to_vector());
    EXPECT_NE(slice(a, 1, 3, 3).to_vector(), slice(b, 1, 3, 3).to_vector());
  }
}

void count_up(const Tensor& x) {
  Array array = x.array();
  for (int64_t i = 0; i < array.size(); ++i)
    array.mutable_data<double>()[i] = static_cast<double>(i);
}

// Without positions the last token sees the earlier ones as a set; with them it sees their order.
TEST(DecoderTest, PositionsAreTheOnlySourceOfOrder) {
  for (const Named<Position>& position : kNames<Position>) {
    ModelOptions options = small();
    options.num_layers = 1;
    options.position = position.value;
    const Decoder model = make(options);
    for (const NamedParameter& p : parameters(model)) {
      if (p.name.ends_with("distance_bias")) count_up(p.tensor);  // which begins with zeros
    }
    ForwardContext context;
    const auto last = [&](std::vector<int64_t> values) {
      return slice(model(tokens(std::move(values)), context), 1, 3, 1).to_vector();
    };
    const std::vector<double> a = last({1, 2, 3, 4}), b = last({3, 1, 2, 4});
    double difference = 0;
    for (size_t i = 0; i < a.size(); ++i) difference = std::max(difference, std::abs(a[i] - b[i]));
    if (options.position == Position::kNone) {
      EXPECT_LT(difference, 1e-12);
    } else {
      EXPECT_GT(difference, 1e-7) << position.name;
    }
  }
}

TEST(DecoderTest, SaysWhatDoesNotFit) {
  ModelOptions options = small();
  options.num_heads = 3;
  expect_error("transformer: num_heads 3 does not divide d_model 8", [&] { make(options); });
  const Decoder model = make(small());
  ForwardContext context;
  expect_error("transformer: there are learned positions for 6 tokens, but not for 7", [&] {
    model(tokens({1, 2, 3, 4, 5, 6, 7}), context);
  });
  expect_error(
      "embedding: index i64[1, 2] holds 11 at element 1; it must be from 0 to 10 (in "
      "token_embedding)",
      [&] {
        model(tokens({1, 11}), context);
      });
}

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
