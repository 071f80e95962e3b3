// Functions that a check is asked about: right ones, and ones with a mistake that is planted.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/graph/saved.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/op_examples.h"
#include "tests/framework/testing.h"

namespace qkv {

using PlantedBackward = std::function<Tensor(const Tensor& x, const Tensor& dy)>;

// y = f(x) with a backward that may be wrong.
class Planted final : public Op {
 public:
  Planted(TensorFunction f, PlantedBackward dx) : f_(std::move(f)), dx_(std::move(dx)) {}
  std::string_view name() const override { return "planted"; }

  Array forward(const Inputs& x) override {
    const NoGrad no_grad;
    const Tensor input(x[0]);
    return f_({&input, 1}).array();
  }
  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {dx_(saved.input(0), dy)};
  }

 private:
  TensorFunction f_;
  PlantedBackward dx_;
};

inline GradcheckReport check_planted(const TensorFunction& f, const PlantedBackward& dx,
                                     const Tensor& x, const GradcheckOptions& options = {}) {
  const TensorFunction planted = [&](std::span<const Tensor> inputs) {
    return apply<Planted>({inputs[0]}, f, dx);
  };
  return gradcheck(planted, {&x, 1}, options);
}

// x, with a mistake on the way back from what is computed of it.
inline Tensor spoilt(const Tensor& x, const PlantedBackward& dx) {
  return apply<Planted>(
      {x}, [](TensorSpan in) { return scale(in[0], 1.0); }, dx);
}

// A function at a point.
struct Subject {
  std::string name;
  std::function<Tensor(const Tensor& x)> f;
  std::vector<double> at;

  Tensor x() const { return leaf({std::ssize(at)}, at); }
};

inline GradcheckReport check(const Subject& subject, const GradcheckOptions& options = {}) {
  const Tensor x = subject.x();
  return gradcheck([&](TensorSpan in) { return subject.f(in[0]); }, {&x, 1}, options);
}

inline GradcheckReport check_spoilt(const Subject& subject, const PlantedBackward& dx,
                                    const GradcheckOptions& options = {}) {
  const auto f = [&](const Tensor& x) { return subject.f(spoilt(x, dx)); };
  return check({subject.name, f, subject.at}, options);
}

// With each of the seeds 1, 2, …
inline void expect_pass(const Subject& subject, uint64_t seeds, int order = 1) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const GradcheckReport report = check(subject, {.order = order, .seed = seed});
    EXPECT_TRUE(report.passed()) << subject.name << ", seed " << seed << "\n" << report.to_text();
  }
}

inline void expect_failure(const Subject& subject, const PlantedBackward& dx, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const GradcheckReport report = check_spoilt(subject, dx, {.seed = seed});
    EXPECT_EQ(report.verdict(), Verdict::kFail) << subject.name << ", seed " << seed << "\n"
                                                << report.to_text();
  }
}

// A gradient that is multiplied, element by element.
inline void expect_failure(const Subject& subject, const std::vector<double>& factors,
                           uint64_t seeds = 5) {
  const Tensor wrong = leaf({std::ssize(factors)}, factors);
  expect_failure(
      subject, [&](const Tensor&, const Tensor& dy) { return dy * wrong; }, seeds);
}

using Scalars = std::function<Float128(Float128)>;

// y = f(x) for each element, with a gradient that may be wrong. In f128 it computes in f128; where
// it is narrow it reads its numbers as doubles, so that it is checked in f64.
class ScalarFunction final : public Op {
 public:
  ScalarFunction(Scalars f, Scalars derivative, bool is_narrow)
      : f_(std::move(f)), derivative_(std::move(derivative)), is_narrow_(is_narrow) {}
  std::string_view name() const override { return "scalar_function"; }

  Array forward(const Inputs& x) override { return mapped(f_, x[0]); }
  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const NoGrad no_grad;
    return {Tensor(mapped(derivative_, saved.input(0).array())) * dy};
  }

 private:
  Array mapped(const Scalars& f, const Array& x) const {
    Array y(x.shape(), x.dtype());
    if (x.dtype() == DType::f128 && !is_narrow_) {
      const auto* from = x.data<Float128>();
      for (int64_t i = 0; i < x.size(); ++i) y.mutable_data<Float128>()[i] = f(from[i]);
    } else {
      const std::vector<double> from = x.to_vector();
      std::vector<double> to;
      for (const double number : from) to.push_back(static_cast<double>(f(number)));
      return Array::of(x.shape(), x.dtype(), to);
    }
    return y;
  }

  Scalars f_, derivative_;
  bool is_narrow_;
};

inline Tensor apply_scalars(const Tensor& x, const Scalars& f, const Scalars& derivative,
                            bool is_narrow) {
  return apply<ScalarFunction>({x}, f, derivative, is_narrow);
}

inline GradcheckReport check_scalars(const Tensor& x, const Scalars& f, const Scalars& derivative,
                                     bool is_narrow, uint64_t seed) {
  return gradcheck([&](TensorSpan in) { return apply_scalars(in[0], f, derivative, is_narrow); },
                   {&x, 1}, {.seed = seed});
}

// x, with a gradient that is multiplied.
inline Tensor with_factor(const Tensor& x, double factor) {
  return apply_scalars(
      x, [](Float128 number) { return number; }, [=](Float128) { return factor; }, true);
}

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
