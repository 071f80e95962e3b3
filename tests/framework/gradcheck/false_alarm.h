#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <span>

#include "framework/gradcheck/gradcheck.h"
#include "framework/ops/support/op_examples.h"

namespace qkv {

// QKV_GRADCHECK_SEEDS=1000 in the environment looks longer than the few seeds of every day.
inline uint64_t false_alarm_seeds(uint64_t usual) {
  const char* text = std::getenv("QKV_GRADCHECK_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

// What is right must pass, at first and at second order, whatever the numbers; and each op has a
// rule of forward mode.
inline void expect_no_false_alarm(std::span<const OpExamples> functions, uint64_t usual_seeds) {
  for (uint64_t seed = 1; seed <= false_alarm_seeds(usual_seeds); ++seed) {
    for (const OpExamples& function : functions) {
      for (const OpExample& example : function.examples) {
        const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(seed));
        const GradcheckReport report = gradcheck(example.f, inputs, {.order = 2, .seed = seed});
        EXPECT_TRUE(report.passed())
            << function.op << ", " << example.name << ", seed " << seed << "\n"
            << report.to_text();
        EXPECT_GT(report.derivatives, 0) << function.op << ", " << example.name;
        for (const InputReport& input : report.inputs) EXPECT_EQ(input.no_forward_rule, "");
      }
    }
  }
}

}  // namespace qkv
