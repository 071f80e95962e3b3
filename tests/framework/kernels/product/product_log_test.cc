#include "framework/kernels/product/product_log.h"

#include <gtest/gtest.h>

#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

using kernels::ProductLog;

TEST(ProductLogTest, KeepsTheProductsOfForwardAndBackward) {
  const Tensor x = parameter(Array::full({2, 7, 3}, DType::f32, 1.0));    // [B, T, K]
  const Tensor w = parameter(Array::full({5, 3}, DType::f32, 1.0));       // [N, K]
  const Tensor key = parameter(Array::full({2, 4, 5}, DType::f32, 1.0));  // [B, T', N]
  const ProductLog log;
  const Tensor y = linear(x, w, Tensor());                 // 2 * 14 * 3 * 5
  const Tensor z = matmul(y, key, {.transpose_b = true});  // 2 * 2 * 7 * 5 * 4
  EXPECT_EQ(log.products().size(), 2u);
  EXPECT_EQ(log.flops(), 420 + 560);
  EXPECT_TRUE(log.products()[1].transpose_b);
  EXPECT_EQ(log.products()[1].c, (Shape{2, 7, 4}));
  backward(sum(z));  // each product has two in the backward
  EXPECT_EQ(log.products().size(), 6u);
  EXPECT_EQ(log.flops(), 3 * (420 + 560));
}

// Q Kᵀ and P V, with as many keys for each query as the mask lets one see; backward has four such,
// without the one that it makes a second time.
TEST(ProductLogTest, WhatAWindowHidesIsInNoProduct) {
  constexpr double kBatch = 2, kLength = 16, kHeads = 3, kWidth = 4;
  const auto keys_counted = [&](const AttentionMask& mask) {
    const Tensor x = parameter(Array::full({2, 16, 3, 4}, DType::f32, 1.0));
    const ProductLog log;
    const Tensor y = attention(x, x, x, {.mask = mask});
    const double keys = log.flops() / (2 * 2 * kBatch * kHeads * kLength * kWidth);
    backward(sum(y));
    EXPECT_EQ(log.flops(), 3 * 2 * 2 * kBatch * kHeads * kLength * kWidth * keys);
    return keys;
  };
  EXPECT_EQ(keys_counted({}), 16);
  EXPECT_EQ(keys_counted({.causal = true}), 16);
  EXPECT_EQ(keys_counted({.causal = true, .window = 3}), 3);
  EXPECT_EQ(keys_counted({.window = 3}), 5);
  EXPECT_EQ(keys_counted({.window = 10}), 16);
  EXPECT_EQ(keys_counted({.causal = true, .window = 100}), 16);
}

TEST(ProductLogTest, TheInnermostHearsAndNoneIsFine) {
  const Tensor x = full({2, 2}, 1.0);
  const ProductLog outer;
  {
    const ProductLog inner;
    matmul(x, x);
    EXPECT_EQ(inner.products().size(), 1u);
  }
  EXPECT_TRUE(outer.products().empty());
  matmul(x, x);
  EXPECT_EQ(outer.products().size(), 1u);
}

}  // namespace
}  // namespace qkv
