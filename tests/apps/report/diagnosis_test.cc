// A mistake of a known kind is called by its name.

#include "apps/report/gradcheck/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "framework/graph/modes.h"
#include "framework/graph/op_faces.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Tensor matrix() { return leaf({3, 3}, {0.5, -1.0, 2.0, 1.5, -0.3, 0.7, 0.9, -1.7, 0.2}); }
Tensor rows() { return leaf({2, 3}, {0.5, -1.0, 2.0, 1.5, -0.3, 0.7}); }

Tensor cube(TensorSpan x) { return x[0] * x[0] * x[0]; }
Tensor right_cube(const Tensor& x, const Tensor& dy) { return 3.0 * (x * x) * dy; }
PlantedBackward times(double factor) {
  return [=](auto& x, auto& dy) { return factor * right_cube(x, dy); };
}

Tensor square(TensorSpan x) { return x[0] * x[0]; }
Tensor softmax_of(TensorSpan x) { return softmax(x[0]); }
Tensor twice_x(const Tensor& x, const Tensor& dy) { return 2.0 * x * dy; }
Tensor once_x(const Tensor& x, const Tensor& dy) { return x * dy; }

GradcheckReport diagnosed(const TensorFunction& f, const PlantedBackward& dx, const Tensor& x,
                          GradcheckOptions options = {}) {
  options.diagnose = diagnose;
  return check_planted(f, dx, x, options);
}

// The diagnosis of a function with a wrong gradient.
std::string diagnosis_of(const TensorFunction& f, const PlantedBackward& dx, const Tensor& x) {
  const GradcheckReport report = diagnosed(f, dx, x);
  EXPECT_FALSE(report.passed());
  std::string diagnosis = report.inputs[0].diagnosis;
  if (!diagnosis.empty()) {
    EXPECT_THAT(report.to_text(), HasSubstr("diagnosis: " + diagnosis));
  }
  return diagnosis;
}
std::string diagnosis_of(const PlantedBackward& dx) { return diagnosis_of(cube, dx, matrix()); }

TEST(DiagnosisTest, AFactor) {
  const std::pair<double, const char*> factors[] = {
      {-1.0, "analytic = -1 x numeric everywhere: the sign is wrong"},
      {2.0, "analytic = 2 x numeric everywhere: a factor"},
      {0.7712, "analytic = 0.7712 x numeric everywhere: a factor"},
      {1.000001, "analytic = 1.000001 x numeric everywhere: a factor"},
      {0.99999, "analytic = 0.99999 x numeric everywhere: a factor"},
      {1234.5678, "analytic = 1234.57 x numeric everywhere: a factor"},  // no root of a number
      // A function of each element by itself sums over nothing: no size explains its factor.
      {3.0, "analytic = 3 x numeric everywhere: a factor"},
      {1.0 / 3, "analytic = 1/3 x numeric everywhere: a factor"},
      {std::sqrt(3.0), "analytic = sqrt(3) x numeric everywhere: a factor"}};
  for (const auto& [factor, diagnosis] : factors) {
    EXPECT_EQ(diagnosis_of(times(factor)), diagnosis);
  }
  const auto half_square = [](TensorSpan t) { return t[0] * t[0] * 0.5; };
  EXPECT_THAT(diagnosis_of(half_square, twice_x, cast(matrix(), DType::f32).detached()),
              HasSubstr("analytic = 2 x numeric everywhere"));
}

struct Mistake {
  TensorFunction f;
  PlantedBackward dx;
  const char* diagnosis;
  Tensor x = matrix();
};

void expect_diagnoses(std::span<const Mistake> mistakes) {
  for (const Mistake& each : mistakes) {
    EXPECT_EQ(diagnosis_of(each.f, each.dx, each.x), each.diagnosis);
  }
}

TEST(DiagnosisTest, AFactorThatASizeExplains) {
  const Tensor keys = random({4, 3}, 2), x = random({2, 3, 4}, 1);
  const Mistake mistakes[] = {
      {[](TensorSpan in) { return mean(in[0] * in[0], 0); }, twice_x,
       "analytic = 3 x numeric everywhere: a factor (3 is a size of the input): a sum taken for a "
       "mean, or the reverse?"},
      {[](TensorSpan in) { return mean(in[0] * in[0]); }, twice_x,
       "analytic = 9 x numeric everywhere: a factor (the input has 9 elements): a sum taken for a "
       "mean, or the reverse?"},
      // a mean over rows
      {[&](TensorSpan w) { return linear(x, w[0], Tensor()); },
       [&](auto&, auto& dy) {
         return matmul(reshape(dy, {6, 5}), cast(reshape(x, {6, 4}), dy.dtype()),
                       {.transpose_a = true}) /
                6.0;
       },
       "analytic = 1/6 x numeric everywhere: a factor (the output has 6 rows): a sum taken for a "
       "mean, or the reverse?",
       random({5, 4}, 2)},
      // one use of two, where an axis has two
      {[](TensorSpan in) { return sum(in[0] * in[0], 0, true); }, once_x,
       "analytic = 1/2 x numeric everywhere: a factor (2 is a size of the input): a sum taken for "
       "a mean, or an input that is used twice counted once?",
       rows()},
      {square, once_x,
       "analytic = 1/2 x numeric everywhere: a factor: is an input that is used twice counted "
       "once?"},
      // the scale of scores, which is forgotten
      {[&](TensorSpan q) {
         return scale(matmul(q[0], keys, {.transpose_b = true}), 1.0 / std::sqrt(3.0));
       },
       [&](auto&, auto& dy) { return matmul(dy, cast(keys, dy.dtype())); },
       "analytic = sqrt(3) x numeric everywhere: a factor (3 is a size of the input): a scale left "
       "out or applied twice?"},
      // rows of 3 do not explain a 2
      {softmax_of,
       [](auto& in, auto& dy) {
         const Tensor y = softmax(in);
         return 2.0 * y * (dy - sum(y * dy, -1, true));
       },
       "analytic = 2 x numeric everywhere: a factor", rows()}};
  expect_diagnoses(mistakes);
}

TEST(DiagnosisTest, APowerThatIsWrong) {
  const Mistake mistakes[] = {
      {[](TensorSpan in) { return tanh(in[0]); },
       [](auto& x, auto& dy) { return dy * (1.0 - tanh(x)); },
       "numeric = analytic times (1 + y) everywhere: a power is wrong or left out"},
      {[](TensorSpan in) { return sigmoid(in[0]); },
       [](auto& x, auto& dy) { return dy * sigmoid(x); },
       "numeric = analytic times (1 - y) everywhere: a power is wrong or left out"},
      {cube, once_x, "numeric = analytic times 3 x everywhere: a power is wrong or left out"},
      {[](TensorSpan in) { return pow(in[0], -1.0); },
       [](auto& x, auto& dy) { return -1.0 * dy * pow(x, -1.0); },
       "numeric = analytic times x^-1 everywhere: a power is wrong or left out"},
      // x⁴ is no slip of a power
      {[](TensorSpan in) { return cube(in) * in[0] * in[0]; },
       [](auto&, auto& dy) { return 5.0 * dy; }, ""}};
  expect_diagnoses(mistakes);
}

TEST(DiagnosisTest, APowerOfAnotherInput) {
  const std::vector<Tensor> inputs = {matrix(), leaf({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})};
  const TensorFunction f = [](std::span<const Tensor> in) {
    const Tensor scale_of = in[1].detached();
    return apply<Planted>(
               {in[0]}, [=](std::span<const Tensor> x) { return x[0] * scale_of * scale_of; },
               [=](const Tensor&, const Tensor& dy) { return dy * scale_of; }) +
           0.0 * in[1];
  };
  EXPECT_EQ(
      gradcheck(f, inputs, {.names = {"x", "scale"}, .diagnose = diagnose}).inputs[0].diagnosis,
      "numeric = analytic times scale everywhere: a power is wrong or left out");
}

// tanh(x)² by an op that keeps tanh(x), which is neither an input nor the result.
class SquareOfTanh final : public Op, public HasKept {
 public:
  std::string_view name() const override { return "square_of_tanh"; }
  Array forward(const Inputs& x) override {
    const NoGrad no_grad;
    const Tensor t = tanh(Tensor(x[0]));
    t_ = t.array();
    return (t * t).array();
  }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    const Tensor t(t_);
    return {dy * 2.0 * t * (1.0 - t)};
  }
  std::vector<Kept> kept() override { return {{"t", &t_}}; }

 private:
  Array t_;
};

TEST(DiagnosisTest, APowerOfWhatIsSaved) {
  const Tensor x = matrix();
  const TensorFunction kept = [](auto in) { return apply<SquareOfTanh>({in[0]}); };
  EXPECT_EQ(gradcheck(kept, {&x, 1}, {.diagnose = diagnose}).inputs[0].diagnosis,
            "numeric = analytic times (1 + t) everywhere: a power is wrong or left out");
  const TensorFunction handed_on = [](std::span<const Tensor> in) {
    return apply<Planted>(
        {tanh(in[0])}, [](std::span<const Tensor> t) { return t[0] * t[0]; },
        [](const Tensor& t, const Tensor& dy) { return dy * 2.0 * t * t; });
  };
  EXPECT_EQ(gradcheck(handed_on, {&x, 1}, {.diagnose = diagnose}).inputs[0].diagnosis,
            "numeric = analytic times tanh^-1 everywhere: a power is wrong or left out");
}

TEST(DiagnosisTest, ABackwardThatIsNotDifferentiableAgain) {
  const PlantedBackward numbers_only = [](auto& x, auto& dy) {
    const NoGrad no_grad;
    return right_cube(x, dy);
  };
  EXPECT_EQ(diagnosed(cube, numbers_only, matrix(), {.order = 2}).inputs[1].diagnosis,
            "not differentiable again: backward computes this gradient without ops that have one");
}

TEST(DiagnosisTest, OneElementIsLookedAtByItself) {
  const PlantedBackward wrong = [](auto& x, auto& dy) { return 3.0 * x * dy; };
  EXPECT_THAT(diagnosed(square, wrong, leaf({1}, {0.5})).to_text(),
              HasSubstr(": 1 derivative, 1 element looked at by itself, 1 wrong\n"));
}

TEST(DiagnosisTest, GradientsOverwrittenAndNotAdded) {
  const InputReport report = {.shape = {3}, .output_shape = {3}};
  const NumericGradient gradient = {.elements = {0, 1, 2},
                                    .analytic = {1.0, 2.0, -3.0},
                                    .numeric = {5.0, 1.0, 4.0},
                                    .error = {0.0, 0.0, 0.0}};
  const auto diagnosis_with = [&](const std::vector<std::vector<double>>& contributions) {
    return diagnose({.report = report,
                     .gradient = gradient,
                     .x = {},
                     .y = {},
                     .dy = {},
                     .contributions = contributions});
  };
  EXPECT_EQ(diagnosis_with({{4.0, -1.0, 7.0}, {1.0, 2.0, -3.0}}),
            "the input is used 2 times and one use is counted: gradients are overwritten, not "
            "added");
  EXPECT_EQ(diagnosis_with({{4.0, -1.0, 6.0}, {1.0, 2.0, -3.0}}), "");
}

// The diagnosis of a function with derivatives 1, 1 and 1e-9, which backward gives multiplied by
// `factors`.
std::string diagnosis_of_scaled(const std::vector<double>& factors) {
  const Tensor slopes = leaf({3}, {1.0, 1.0, 1e-9}), wrong = slopes * leaf({3}, factors);
  const TensorFunction f = [&](std::span<const Tensor> x) { return x[0] * slopes.detached(); };
  const PlantedBackward dx = [&](const Tensor&, const Tensor& dy) { return dy * wrong.detached(); };
  return diagnosis_of(f, dx, matrix());
}

TEST(DiagnosisTest, AFactorIsOneForEveryElement) {
  // far smaller than what it should be, and no multiple of it
  EXPECT_THAT(diagnosis_of([](auto&, auto& dy) {
                return 1e-9 * dy * leaf({3, 1}, {1, -1, 1});
              }),
              Not(HasSubstr("x numeric")));
  // right where the gradient is small
  EXPECT_THAT(diagnosis_of_scaled({3.0, 3.0, 1.0}), Not(HasSubstr("numeric")));
}

TEST(DiagnosisTest, APlaceHoldsAllThatIsWrong) {
  EXPECT_THAT(diagnosis_of_scaled({1.0, 5.0, 2.0}), Not(HasSubstr("only")));
}

TEST(DiagnosisTest, ATermThatIsLeftOut) {
  const auto x_exp = [](TensorSpan x) { return x[0] * exp(x[0]); };
  const Mistake mistakes[] = {
      {[](TensorSpan x) { return cube(x) + scale(x[0], 2.0); }, right_cube,
       "a term is wrong or left out: numeric - analytic = 2 dy everywhere"},
      {softmax_of, [](auto& x, auto& dy) { return softmax(x) * dy; },
       "a term is wrong or left out: numeric - analytic is one number for each row along axis 1 "
       "times y: a sum or a mean over it?"},
      {[](TensorSpan x) {
         return x[0] - broadcast_to(mean(x[0], {0}, true), {3, 3});
       },
       [](auto&, auto& dy) { return scale(dy, 1.0); },
       "a term is wrong or left out: numeric - analytic is one number for each row along axis 0: a "
       "sum or a mean over it?"},
      {x_exp, [](auto& x, auto& dy) { return exp(x) * dy; },
       "a term is wrong or left out: numeric - analytic = 1 y dy everywhere"},
      // no pattern fits
      {x_exp, [](auto& x, auto& dy) { return tanh(x) * dy; }, ""},
      {cube, [](auto& x, auto& dy) { return right_cube(x, dy) + 0.1 * tanh(x) * dy; }, ""}};
  expect_diagnoses(mistakes);
  const auto both = [](TensorSpan x) { return x[0] + 0.5 * transpose(x[0], 0, 1); };
  const PlantedBackward first_term = [](auto&, auto& dy) {
    return dy + constant({3, 3}, {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5}, DType::f64) * dy;
  };
  EXPECT_THAT(diagnosis_of(both, first_term, matrix()), StartsWith("terms are left out"));
}

// The wrong output is too small to be seen in the dot product with the cotangent.
TEST(DiagnosisTest, SmallOutputsThatAreWrong) {
  const Tensor sizes = leaf({3}, {1e-12, 1.0, 1.0});
  const TensorFunction f = [&](std::span<const Tensor> x) { return sizes * exp(x[0]); };
  const PlantedBackward wrong = [&](const Tensor& x, const Tensor& dy) {
    return sizes * exp(x) * dy * leaf({3}, {2.0, 1.0, 1.0});
  };
  const Tensor x = leaf({3}, {0.5, -1.0, 2.0});
  const GradcheckReport report = diagnosed(f, wrong, x);
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(report.inputs[0].diagnosis, testing::Not(HasSubstr("not linear")));
}

TEST(DiagnosisTest, AGradientInTheWrongPlaces) {
  const char* const all_zero = "all zero: the gradient is left out, or the input detached";
  const Mistake mistakes[] = {
      {[](TensorSpan x) { return sum(x[0] * x[0]); }, [](auto& x, auto&) { return 2.0 * x; },
       "backward leaves its cotangent out"},
      {cube, [](auto& x, auto& dy) { return transpose(right_cube(x, dy), 0, 1); },
       "transposed: analytic[i, j] is numeric[j, i] in the last two axes"},
      {[](TensorSpan x) {
         return broadcast_to(x[0], Shape{4, 3});
       },
       [](auto& x, auto& dy) { return reshape(slice(dy, 0, 0, 1), {x.size()}); },
       "a broadcast that was not summed: only outputs at index 0 of axis 0 reach this input, and "
       "others should",
       leaf({3}, {1.0, 2.0, 3.0})},
      {[](TensorSpan x) { return sum(x[0], 1, true); },
       [](auto&, auto& dy) { return pad(dy, 1, 0, 3); },
       "not summed over axis 1: numeric is the sum of analytic over it, the same at every index"},
      {cube,
       [](auto& x, auto& dy) {
         const std::vector<double> factors = {1, 1, 1, 1, 1, 1, 1.1, 1.2, 0.7};
         return right_cube(x, dy) * constant({3, 3}, factors, DType::f64);
       },
       "only elements at index 2 of axis 0 are wrong"},
      {cube, [](auto&, auto&) { return Tensor(); }, all_zero},
      {cube, [](auto& x, auto&) { return zeros(x.shape(), DType::f64); }, all_zero},
      {cube,
       [](auto& x, auto& dy) {
         const bool sparse = std::ranges::count(dy.to_vector(), 0.0) > 0;
         return (sparse ? 2.0 : 1.0) * right_cube(x, dy);
       },
       "right for a random cotangent and wrong for single outputs: backward is not linear in its "
       "cotangent"}};
  expect_diagnoses(mistakes);
}

TEST(DiagnosisTest, NotFinite) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(
        diagnosis_of([bad](auto& x, auto& dy) {
          return right_cube(x, dy) + constant({3, 3}, {0, 0, 0, 0, bad, 0, 0, 0, 0}, DType::f64);
        }),
        absl::StrCat("the gradient is ", std::isnan(bad) ? "NaN" : "infinite",
                     " at 1 of 9 elements, first at [1, 1]"));
  }
}

TEST(RecognizableTest, KnowsTheNumbersThatComeUp) {
  EXPECT_EQ(recognizable(1.0), "1");
  EXPECT_EQ(recognizable(-1.0), "-1");
  EXPECT_EQ(recognizable(64.0), "64");
  EXPECT_EQ(recognizable(-0.25), "-1/4");
  EXPECT_EQ(recognizable(std::sqrt(5.0)), "sqrt(5)");
  EXPECT_EQ(recognizable(1.0 / std::sqrt(8.0)), "1/sqrt(8)");
  EXPECT_EQ(recognizable(0.7712), "");
  EXPECT_EQ(recognizable(std::numeric_limits<double>::quiet_NaN()), "");
}

}  // namespace
}  // namespace qkv
