#pragma once

#include <gtest/gtest.h>

#include <cstdint>
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

}  // namespace qkv
