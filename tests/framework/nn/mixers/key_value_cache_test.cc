#include "framework/nn/mixers/key_value_cache.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/mixers/attention.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

MultiHeadAttention make_attention() {
  Initializer init(RandomStream(5), DType::f64);
  const auto layer = [&] { return Linear(init, 8, 8, true, 0.5); };
  MultiHeadAttention attention;
  attention.query = layer();
  attention.key = layer();
  attention.value = layer();
  attention.output = layer();
  attention.num_heads = 2;
  return attention;
}

TEST(KeyValueCacheTest, TheSourceIsReadInTheFirstPassOnly) {
  const NoGrad no_grad;
  const MultiHeadAttention attention = make_attention();
  const Tensor x = random({1, 2, 8}, 1), source = random({1, 5, 8}, 2);
  const Tensor unread = full({1, 5, 8}, std::numeric_limits<double>::quiet_NaN(), DType::f64);
  ForwardContext plain;
  const std::vector<double> expected = attention(x, source, {}, plain).to_vector();
  KeyValueCache cache;
  for (const Tensor& given : {source, unread, unread}) {
    ForwardContext context{.cache = &cache};
    EXPECT_EQ(attention(x, given, {}, context).to_vector(), expected);
  }
}

// A decoder's layer that attends to itself, and one that attends to the encoder, of one path.
TEST(KeyValueCacheTest, KeepsTheSourceApartFromTheTokens) {
  const NoGrad no_grad;
  const MultiHeadAttention attention = make_attention();
  const Tensor x = random({1, 2, 8}, 1), source = random({1, 5, 8}, 2);
  ForwardContext plain;
  KeyValueCache cache;
  ForwardContext context{.cache = &cache};
  EXPECT_EQ(attention(x, {.causal = true}, context).to_vector(),
            attention(x, {.causal = true}, plain).to_vector());
  EXPECT_EQ(attention(x, source, {}, context).to_vector(),
            attention(x, source, {}, plain).to_vector());
  EXPECT_EQ(cache.length(), 2);
}

}  // namespace
}  // namespace qkv
