// What is bf16 in a model whose products are.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "framework/nn/trace.h"
#include "framework/ops/ops.h"
#include "tests/models/every_choice.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 7, kLength = 6, kRows = 3, kWidth = 16;

struct Pass {
  Model model;
  Trace trace;
  Tensor logits;
};

Pass forward(const ModelOptions& options) {
  const ChosenModel chosen = {options.kind, options};
  Pass pass = {Model(options, data_for(chosen, kLength, kVocabulary),
                     Initializer(RandomStream(1), DType::f32, /*bf16_products=*/true)),
               {},
               {}};
  const ModelBatch batch = batch_for(chosen, kRows, kLength, kVocabulary);
  ForwardContext context;
  const Tracing tracing(pass.trace);
  pass.logits = pass.model(batch.inputs, context);
  return pass;
}

ModelOptions small(const std::string& kind, bool tied = true) {
  return {.kind = kind,
          .num_layers = 1,
          .d_model = kWidth,
          .num_heads = 2,
          .d_ff = 24,
          .tie_embeddings = tied};
}

TEST(ModelBf16Test, WhatGoesFromOneProductIntoTheNextIsBf16AndTheRestIsF32) {
  for (const ModelKind& kind : model_kinds()) {
    SCOPED_TRACE(kind.name);
    const Pass pass = forward(small(kind.name));
    for (const std::string& path : pass.trace.paths()) {
      const auto ends = [&](const char* end) { return path.ends_with(end); };
      if (ends("attention.q") || ends("attention.k") || ends("attention.v") || ends(".up")) {
        EXPECT_EQ(pass.trace[path].dtype(), DType::bf16) << path;
      }
      if (ends("input") || ends("mixed") || ends("output") || ends("norm") || ends("attention")) {
        EXPECT_EQ(pass.trace[path].dtype(), DType::f32) << path;
      }
    }
    EXPECT_EQ(pass.logits.dtype(), DType::f32);
  }
}

std::vector<double> rounded(const Tensor& x) { return cast(x, DType::bf16).to_vector(); }

TEST(ModelBf16Test, TheHeadMultipliesInBf16Too) {
  for (const bool tied : {true, false}) {
    const Pass pass = forward(small("decoder", tied));
    const std::vector<NamedParameter> all = parameters(pass.model);
    const Tensor& weight = (tied ? all.front() : all.back()).tensor;
    const std::vector<double> w = rounded(weight), x = rounded(pass.trace["output"]);
    const std::vector<double> logits = pass.logits.to_vector();
    for (size_t i = 0; i < logits.size(); ++i) {
      const double* row = &x[i / kVocabulary * kWidth];
      const double* column = &w[i % kVocabulary * kWidth];
      double sum = 0, size = 0;
      for (int64_t c = 0; c < kWidth; ++c) {
        sum += row[c] * column[c];
        size += std::abs(row[c] * column[c]);
      }
      EXPECT_NEAR(logits[i], sum, kWidth * 0x1p-24 * size);  // of sums in f32
    }
  }
}

}  // namespace
}  // namespace qkv
