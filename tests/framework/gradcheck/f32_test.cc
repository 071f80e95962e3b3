// Functions of f32 numbers are checked as they are: what is right does not fail, what is wrong
// fails, and does not pass where rounding hides it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/gradcheck/probe.h"
#include "framework/graph/saved.h"
#include "framework/ops/examples.h"
#include "tests/framework/gradcheck/false_alarm.h"
#include "tests/framework/gradcheck/hidden_cases.h"
#include "tests/framework/gradcheck/planted.h"
#include "tests/framework/gradcheck/scalar_function.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::HasSubstr;

Tensor f32_of(const std::vector<double>& numbers) {
  return constant({std::ssize(numbers)}, numbers, DType::f32);
}

Tensor same(std::span<const Tensor> x) { return x[0] * 1.0; }

// f with its first number of f32 behind a mistake in the gradient.
TensorFunction with_mistake(const TensorFunction& f, const PlantedBackward& dx) {
  return [=](std::span<const Tensor> given) {
    std::vector<Tensor> x(given.begin(), given.end());
    const auto first = std::ranges::find_if(x, [](auto& t) { return is_floating(t.dtype()); });
    *first = apply<Planted>({*first}, same, dx);
    return f(x);
  };
}

// The numbers of dy, of which the first is 1 % larger.
Tensor first_wrong(const Tensor&, const Tensor& dy) {
  std::vector<double> factors(static_cast<size_t>(dy.size()), 1.0);
  factors[0] = 1.01;
  return dy * constant(dy.shape(), factors, dy.dtype());
}

// Whether the first number moves the value.
bool has_gradient(const TensorFunction& f, std::span<const Tensor> x) {
  const Tensor y = f(x);
  const Gradients gradients = backward(y, {.cotangent = random_like(y, RandomStream(1))});
  const auto first = std::ranges::find_if(x, [](auto& t) { return is_floating(t.dtype()); });
  return gradients.contains(*first) && std::abs(gradients[*first].to_vector()[0]) > 1e-6;
}

GradcheckReport check(const TensorFunction& f, std::span<const Tensor> inputs, uint64_t seed) {
  return gradcheck(f, inputs, {.seed = seed});
}

TEST(GradcheckF32Test, EveryOpAndMistakesInIt) {
  const PlantedBackward mistakes[] = {[](const Tensor&, const Tensor& dy) { return 1.01 * dy; },
                                      [](const Tensor&, const Tensor& dy) { return -1.0 * dy; },
                                      [](const Tensor&, const Tensor& dy) { return 0.0 * dy; },
                                      first_wrong};
  int right = 0, passed = 0, wrong = 0, failed = 0;
  for (uint64_t seed = 1; seed <= false_alarm_seeds(1); ++seed) {
    for (const OpExamples& function : op_examples()) {
      for (const OpExample& example : function.examples) {
        const std::string name = absl::StrCat(function.op, ", ", example.name, ", seed ", seed);
        const auto inputs = make_inputs(example, DType::f32, RandomStream(seed));
        const GradcheckReport report = check(example.f, inputs, seed);
        EXPECT_EQ(report.computed_in, "f32");
        EXPECT_NE(report.verdict(), Verdict::kFail) << name << "\n" << report.to_text();
        ++right, passed += report.passed() ? 1 : 0;
        const PlantedBackward& mistake = mistakes[static_cast<size_t>(right) % 4];
        const TensorFunction planted = with_mistake(example.f, mistake);
        if (!has_gradient(example.f, inputs)) continue;
        const GradcheckReport of_wrong = check(planted, inputs, seed);
        EXPECT_FALSE(of_wrong.passed()) << name << "\n" << of_wrong.to_text();
        ++wrong, failed += of_wrong.verdict() == Verdict::kFail ? 1 : 0;
      }
    }
  }
  EXPECT_GT(passed, right * 8 / 10);
  EXPECT_GT(failed, wrong * 9 / 10);
}

// A kernel of one's own, which refuses everything but f32: softmax of rows.
class OwnSoftmax final : public Op {
 public:
  enum Mistake { kNone, kTwice, kDropped, kSign, kPercent };
  explicit OwnSoftmax(Mistake mistake) : mistake_(mistake) {}
  std::string_view name() const override { return "own_softmax"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), DType::f32);
    const auto* from = x[0].data<float>();  // throws unless it is f32
    auto* to = y.mutable_data<float>();
    const int64_t columns = x[0].shape()[-1];
    for (int64_t row = 0; row < x[0].size(); row += columns) {
      float sum = 0;
      for (int64_t i = row; i < row + columns; ++i) sum += to[i] = std::exp(from[i]);
      for (int64_t i = row; i < row + columns; ++i) to[i] /= sum;
    }
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    Array dx(saved.shape(0), DType::f32);
    const Tensor output = saved.output();
    const auto *y = output.array().data<float>(), *d = dy.array().data<float>();
    auto* to = dx.mutable_data<float>();
    const int64_t columns = dx.shape()[-1];
    const auto factor = static_cast<float>(mistake_ == kTwice     ? 2.0
                                           : mistake_ == kSign    ? -1.0
                                           : mistake_ == kPercent ? 1.01
                                                                  : 1.0);
    for (int64_t row = 0; row < dx.size(); row += columns) {
      float dot = 0;
      for (int64_t i = row; i < row + columns; ++i) dot += mistake_ == kDropped ? 0 : y[i] * d[i];
      for (int64_t i = row; i < row + columns; ++i) to[i] = factor * y[i] * (d[i] - dot);
    }
    return {Tensor(dx)};
  }

 private:
  Mistake mistake_;
};

TEST(GradcheckF32Test, AKernelThatTakesOnlyF32) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RandomStream random(seed);
    const Tensor x = random_normal({3, 4}, random);
    const auto check_with = [&](OwnSoftmax::Mistake mistake) {
      return gradcheck([=](auto in) { return apply<OwnSoftmax>({in[0]}, mistake); }, {&x, 1},
                       {.seed = seed, .names = {"x"}});
    };
    const GradcheckReport right = check_with(OwnSoftmax::kNone);
    EXPECT_TRUE(right.passed()) << right.to_text();
    EXPECT_THAT(right.to_text(), HasSubstr("PASS  order 1  x f32[3, 4]: 144 derivatives"));
    EXPECT_THAT(right.to_text(), HasSubstr("note: checked in f32"));
    for (const auto mistake :
         {OwnSoftmax::kTwice, OwnSoftmax::kDropped, OwnSoftmax::kSign, OwnSoftmax::kPercent}) {
      const GradcheckReport wrong = check_with(mistake);
      EXPECT_EQ(wrong.verdict(), Verdict::kFail) << mistake << "\n" << wrong.to_text();
    }
  }
}

// One element or output is small beside the others, or beside a constant.
TEST(GradcheckF32Test, WhatRoundingHidesDoesNotPass) {
  constexpr double kSizes[] = {1e1, 1e2, 1e3, 1e4, 1e6, 1e9, 1e12};
  std::vector<HiddenCase> cases = hidden_cases(kSizes);
  for (const double size : kSizes) {
    cases.push_back(
        {"a small factor", [=](const Tensor& x) { return x / size + 1.0; }, {0.7, 1.3}});
  }
  for (const HiddenCase& one : cases) {
    for (const double factor : {0.0, -1.0, 2.0, 1.01}) {
      for (uint64_t seed = 1; seed <= 2; ++seed) {
        const Tensor x = f32_of(one.at);
        const auto check_with = [&](double of_first) {
          const TensorFunction f = [&](std::span<const Tensor> in) {
            const Tensor first = part(in[0], 0);
            return one.f(concat(
                {apply<Planted>({first}, same,
                                [=](const Tensor&, const Tensor& dy) { return of_first * dy; }),
                 part(in[0], 1)},
                0));
          };
          return check(f, {&x, 1}, seed);
        };
        const GradcheckReport wrong = check_with(factor), right = check_with(1.0);
        EXPECT_FALSE(wrong.passed()) << one.name << ", " << factor << "\n" << wrong.to_text();
        EXPECT_NE(right.verdict(), Verdict::kFail) << one.name << "\n" << right.to_text();
      }
    }
  }
}

GradcheckReport check_scalars(const Scalars& f, const Scalars& derivative, double at,
                              uint64_t seed) {
  const Tensor x = f32_of({at});
  return check(
      [&](std::span<const Tensor> in) { return apply_scalars(in[0], f, derivative, true); },
      {&x, 1}, seed);
}

TEST(GradcheckF32Test, AKinkAndABendNearThePointAreSeen) {
  for (int bits = 2; bits <= 30; bits += 2) {
    const double width = std::ldexp(1.0, -bits);
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      for (const double side : {-1.0, 1.0}) {
        const double kink = 1.0 + side * 1.3 * width;
        const Scalars f = [&](Float128 x) { return x > kink ? 2 * x - kink : x; };
        for (const double wrong : {1.5, side > 0 ? 2.0 : 1.0}) {
          const GradcheckReport report = check_scalars(
              f, [&](Float128) { return wrong; }, 1, seed);
          EXPECT_FALSE(report.passed()) << "2^-" << bits << "\n" << report.to_text();
        }
        const GradcheckReport right = check_scalars(
            f, [&](Float128 x) { return x > kink ? 2 : 1; }, 1, seed);
        EXPECT_NE(right.verdict(), Verdict::kFail) << "2^-" << bits << "\n" << right.to_text();
      }
      if (bits > 18) continue;  // which is no more than rounding
      const Scalars bend = [&](Float128 x) { return x + width * float128::tanh((x - 1) / width); };
      const GradcheckReport report = check_scalars(
          bend, [](Float128) { return 1; }, 1, seed);
      EXPECT_FALSE(report.passed()) << "2^-" << bits << "\n" << report.to_text();
    }
  }
}

// Zeros pass where nothing moves, however far the numbers go.
TEST(GradcheckF32Test, Zeros) {
  const Tensor x = f32_of({0.5, 0.0, -2.0, 1.0});
  const auto verdict_of = [&](const TensorFunction& f) { return check(f, {&x, 1}, 1).verdict(); };
  EXPECT_EQ(verdict_of([](auto in) { return 0.0 * in[0] + 3.0; }), Verdict::kPass);
  EXPECT_EQ(verdict_of([](auto in) { return slice(in[0], 0, 0, 2) * 1e3; }), Verdict::kPass);
  EXPECT_EQ(verdict_of([](auto in) { return in[0].detached() * 1e-9 + 1.0; }), Verdict::kUndecided);
}

}  // namespace
}  // namespace qkv
