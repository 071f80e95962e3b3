// A mistake of a known kind is called by its name.

#include "apps/report/gradcheck/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/graph/modes.h"
#include "framework/graph/op_faces.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/planted.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Tensor square() { return leaf({3, 3}, {0.5, -1.0, 2.0, 1.5, -0.3, 0.7, 0.9, -1.7, 0.2}); }

Tensor right_cube(const Tensor& x, const Tensor& dy) { return 3.0 * (x * x) * dy; }

GradcheckReport diagnosed(const TensorFunction& f, const PlantedBackward& dx, const Tensor& x,
                          GradcheckOptions options = {}) {
  options.diagnose = diagnose;
  return check_planted(f, dx, x, options);
}

// The diagnosis of y = x³ with a wrong gradient.
std::string diagnosis_of(const PlantedBackward& dx) {
  const TensorFunction cube = [](std::span<const Tensor> x) { return x[0] * x[0] * x[0]; };
  const GradcheckReport report = diagnosed(cube, dx, square());
  EXPECT_FALSE(report.passed());
  std::string diagnosis = report.inputs[0].diagnosis;
  if (!diagnosis.empty()) {
    EXPECT_THAT(report.to_text(), HasSubstr("diagnosis: " + diagnosis));
  }
  return diagnosis;
}

TEST(DiagnosisTest, AWrongSign) {
  EXPECT_EQ(diagnosis_of([](auto& x, auto& dy) { return -right_cube(x, dy); }),
            "analytic = -1 x numeric everywhere: the sign is wrong");
}

TEST(DiagnosisTest, AFactor) {
  EXPECT_EQ(diagnosis_of([](auto& x, auto& dy) { return 2.0 * right_cube(x, dy); }),
            "analytic = 2 x numeric everywhere: a factor");
  EXPECT_THAT(diagnosis_of([](auto& x, auto& dy) { return 0.7712 * right_cube(x, dy); }),
              StartsWith("analytic = 0.7712 x numeric everywhere"));
}

TEST(DiagnosisTest, AFactorInF32) {
  const Tensor x = cast(square(), DType::f32).detached();
  const TensorFunction half_square = [](std::span<const Tensor> t) { return t[0] * t[0] * 0.5; };
  const PlantedBackward twice = [](const Tensor& t, const Tensor& dy) { return 2.0 * t * dy; };
  EXPECT_THAT(diagnosed(half_square, twice, x).inputs[0].diagnosis,
              HasSubstr("analytic = 2 x numeric everywhere"));
}

TEST(DiagnosisTest, ASumTakenForAMean) {
  const TensorFunction f = [](std::span<const Tensor> x) { return mean(x[0] * x[0], 0); };
  const PlantedBackward of_sum = [](const Tensor& x, const Tensor& dy) { return 2.0 * x * dy; };
  EXPECT_EQ(diagnosed(f, of_sum, square()).inputs[0].diagnosis,
            "analytic = 3 x numeric everywhere: a factor (3 is a size of the input): a sum taken "
            "for a mean, or the reverse?");
}

// A function of each element by itself sums over nothing: no size explains its factor.
TEST(DiagnosisTest, ASizeThatTheOpDoesNotSumOverExplainsNothing) {
  EXPECT_EQ(diagnosis_of([](auto& x, auto& dy) { return 3.0 * right_cube(x, dy); }),
            "analytic = 3 x numeric everywhere: a factor");
  EXPECT_EQ(diagnosis_of([](auto& x, auto& dy) { return (x * x) * dy; }),
            "analytic = 1/3 x numeric everywhere: a factor");
  EXPECT_EQ(diagnosis_of([](auto& x, auto& dy) { return std::sqrt(3.0) * right_cube(x, dy); }),
            "analytic = sqrt(3) x numeric everywhere: a factor");
  const TensorFunction f = [](std::span<const Tensor> x) { return softmax(x[0]); };
  const PlantedBackward twice = [](const Tensor& x, const Tensor& dy) {
    const Tensor y = softmax(x);
    return 2.0 * y * (dy - sum(y * dy, -1, true));
  };
  EXPECT_EQ(diagnosed(f, twice, leaf({2, 3}, {0.5, -1.0, 2.0, 1.5, -0.3, 0.7})).inputs[0].diagnosis,
            "analytic = 2 x numeric everywhere: a factor")
      << "the rows have 3";
}

TEST(DiagnosisTest, APowerThatIsWrong) {
  struct Case {
    TensorFunction f;
    PlantedBackward dx;
    const char* diagnosis;
  };
  const Case cases[] = {
      {[](std::span<const Tensor> in) { return tanh(in[0]); },
       [](const Tensor& x, const Tensor& dy) { return dy * (1.0 - tanh(x)); },
       "numeric = analytic times (1 + y) everywhere: a power is wrong or left out"},
      {[](std::span<const Tensor> in) { return sigmoid(in[0]); },
       [](const Tensor& x, const Tensor& dy) { return dy * sigmoid(x); },
       "numeric = analytic times (1 - y) everywhere: a power is wrong or left out"},
      {[](std::span<const Tensor> in) { return in[0] * in[0] * in[0]; },
       [](const Tensor& x, const Tensor& dy) { return dy * x; },
       "numeric = analytic times 3 x everywhere: a power is wrong or left out"},
      {[](std::span<const Tensor> in) { return pow(in[0], -1.0); },
       [](const Tensor& x, const Tensor& dy) { return -1.0 * dy * pow(x, -1.0); },
       "numeric = analytic times x^-1 everywhere: a power is wrong or left out"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(diagnosed(one.f, one.dx, square()).inputs[0].diagnosis, one.diagnosis);
  }
}

TEST(DiagnosisTest, APowerOfAnotherInput) {
  const std::vector<Tensor> inputs = {square(), leaf({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})};
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
  const Tensor x = square();
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
  const TensorFunction f = [](std::span<const Tensor> in) { return in[0] * in[0] * in[0]; };
  const PlantedBackward numbers_only = [](const Tensor& x, const Tensor& dy) {
    const NoGrad no_grad;
    return right_cube(x, dy);
  };
  const GradcheckReport report = diagnosed(f, numbers_only, square(), {.order = 2});
  EXPECT_EQ(report.inputs[1].diagnosis,
            "not differentiable again: backward computes this gradient without ops that have one");
}

TEST(DiagnosisTest, AMeanOfAllTakenForASum) {
  const TensorFunction f = [](std::span<const Tensor> x) { return mean(x[0] * x[0]); };
  const PlantedBackward backward_of_sum = [](const Tensor& x, const Tensor& dy) {
    return 2.0 * x * dy;
  };
  EXPECT_EQ(diagnosed(f, backward_of_sum, square()).inputs[0].diagnosis,
            "analytic = 9 x numeric everywhere: a factor (the input has 9 elements): a "
            "sum taken for a mean, or the reverse?");
}

TEST(DiagnosisTest, AMeanOverRowsTakenForASum) {
  const Tensor x = random({2, 3, 4}, 1);
  const auto f = [&](std::span<const Tensor> w) { return linear(x, w[0], Tensor()); };
  const PlantedBackward mean_of_rows = [&](const Tensor&, const Tensor& dy) {
    const Tensor rows = reshape(x, {6, 4});
    return matmul(reshape(dy, {6, 5}), cast(rows, dy.dtype()), {.transpose_a = true}) / 6.0;
  };
  const InputReport report = diagnosed(f, mean_of_rows, random({5, 4}, 2)).inputs[0];
  EXPECT_EQ(report.diagnosis,
            "analytic = 1/6 x numeric everywhere: a factor (the output has 6 rows): a "
            "sum taken for a mean, or the reverse?");
}

TEST(DiagnosisTest, OneElementIsLookedAtByItself) {
  const auto f = [](std::span<const Tensor> x) { return x[0] * x[0]; };
  const PlantedBackward wrong = [](const Tensor& x, const Tensor& dy) { return 3.0 * x * dy; };
  EXPECT_THAT(diagnosed(f, wrong, leaf({1}, {0.5})).to_text(),
              HasSubstr(": 1 derivative, 1 element looked at by itself, 1 wrong\n"));
}

TEST(DiagnosisTest, ACotangentThatIsLeftOut) {
  const TensorFunction f = [](std::span<const Tensor> x) { return sum(x[0] * x[0]); };
  const PlantedBackward no_dy = [](const Tensor& x, const Tensor&) { return 2.0 * x; };
  EXPECT_EQ(diagnosed(f, no_dy, square()).inputs[0].diagnosis, "backward leaves its cotangent out");
}

TEST(DiagnosisTest, AHalfWhereAnAxisHasTwo) {
  const TensorFunction f = [](std::span<const Tensor> x) { return sum(x[0] * x[0], 0, true); };
  const PlantedBackward one_use = [](const Tensor& x, const Tensor& dy) { return x * dy; };
  EXPECT_THAT(
      diagnosed(f, one_use, leaf({2, 3}, {0.5, -1.0, 2.0, 1.5, -0.3, 0.7})).inputs[0].diagnosis,
      HasSubstr("(2 is a size of the input): a sum taken for a mean, or an input that is "
                "used twice counted once?"));
}

TEST(DiagnosisTest, AForgottenScale) {
  const Tensor keys = random({4, 3}, 2);
  const TensorFunction scores = [&](std::span<const Tensor> q) {
    return scale(matmul(q[0], keys, {.transpose_b = true}), 1.0 / std::sqrt(3.0));
  };
  const PlantedBackward forgets = [&](const Tensor&, const Tensor& dy) {
    return matmul(dy, cast(keys, dy.dtype()));
  };
  EXPECT_EQ(diagnosed(scores, forgets, square()).inputs[0].diagnosis,
            "analytic = sqrt(3) x numeric everywhere: a factor (3 is a size of the input): a scale "
            "left out or applied twice?");
}

TEST(DiagnosisTest, AnAccumulationThatIsForgotten) {
  const TensorFunction f = [](std::span<const Tensor> x) { return x[0] * x[0]; };
  const PlantedBackward one_use = [](const Tensor& x, const Tensor& dy) { return x * dy; };
  EXPECT_EQ(diagnosed(f, one_use, square()).inputs[0].diagnosis,
            "analytic = 1/2 x numeric everywhere: a factor: is an input that is used "
            "twice counted once?");
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

TEST(DiagnosisTest, AFactorThatIsNearlyOne) {
  for (const double factor : {1.000001, 0.99999}) {
    EXPECT_EQ(diagnosis_of([=](auto& x, auto& dy) { return factor * right_cube(x, dy); }),
              absl::StrCat("analytic = ", absl::StrFormat("%.9g", factor),
                           " x numeric everywhere: a factor"));
  }
}

// The diagnosis of a function with derivatives 1, 1 and 1e-9, which backward gives multiplied by
// `factors`.
std::string diagnosis_of_scaled(const std::vector<double>& factors) {
  const Tensor slopes = leaf({3}, {1.0, 1.0, 1e-9}), wrong = slopes * leaf({3}, factors);
  const TensorFunction f = [&](std::span<const Tensor> x) { return x[0] * slopes.detached(); };
  const PlantedBackward dx = [&](const Tensor&, const Tensor& dy) { return dy * wrong.detached(); };
  return diagnosed(f, dx, square()).inputs[0].diagnosis;
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

TEST(DiagnosisTest, ALargeFactorIsNoRootOfAWholeNumber) {
  EXPECT_EQ(diagnosis_of([](auto& x, auto& dy) { return 1234.5678 * right_cube(x, dy); }),
            "analytic = 1234.57 x numeric everywhere: a factor");
}

TEST(DiagnosisTest, APlaceHoldsAllThatIsWrong) {
  EXPECT_THAT(diagnosis_of_scaled({1.0, 5.0, 2.0}), Not(HasSubstr("only")));
}

TEST(DiagnosisTest, ATermOfASumThatIsLeftOut) {
  const TensorFunction f = [](std::span<const Tensor> x) {
    return x[0] * x[0] * x[0] + scale(x[0], 2.0);
  };
  EXPECT_EQ(diagnosed(f, right_cube, square()).inputs[0].diagnosis,
            "a term is wrong or left out: numeric - analytic = 2 dy everywhere");
}

TEST(DiagnosisTest, ATermOfSoftmaxThatIsLeftOut) {
  const TensorFunction f = [](std::span<const Tensor> x) { return softmax(x[0]); };
  const PlantedBackward forgets = [](const Tensor& x, const Tensor& dy) { return softmax(x) * dy; };
  EXPECT_EQ(diagnosed(f, forgets, square()).inputs[0].diagnosis,
            "a term is wrong or left out: numeric - analytic is one number for each row along axis "
            "1 times y: a sum or a mean over it?");
}

TEST(DiagnosisTest, AMeanThatIsLeftOut) {
  const TensorFunction f = [](std::span<const Tensor> x) {
    return x[0] - broadcast_to(mean(x[0], {0}, true), {3, 3});
  };
  const PlantedBackward forgets = [](const Tensor&, const Tensor& dy) { return scale(dy, 1.0); };
  EXPECT_EQ(diagnosed(f, forgets, square()).inputs[0].diagnosis,
            "a term is wrong or left out: numeric - analytic is one number for each row along axis "
            "0: a sum or a mean over it?");
}

TEST(DiagnosisTest, NoneWhereNoPatternFits) {
  const TensorFunction f = [](std::span<const Tensor> x) { return x[0] * exp(x[0]); };
  const PlantedBackward forgets = [](const Tensor& x, const Tensor& dy) { return exp(x) * dy; };
  EXPECT_EQ(diagnosed(f, forgets, square()).inputs[0].diagnosis,
            "a term is wrong or left out: numeric - analytic = 1 y dy everywhere");
  const PlantedBackward odd = [](const Tensor& x, const Tensor& dy) { return tanh(x) * dy; };
  EXPECT_EQ(diagnosed(f, odd, square()).inputs[0].diagnosis, "");
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

TEST(DiagnosisTest, Transposed) {
  EXPECT_EQ(diagnosis_of([](auto& x, auto& dy) { return transpose(right_cube(x, dy), 0, 1); }),
            "transposed: analytic[i, j] is numeric[j, i] in the last two axes");
}

TEST(DiagnosisTest, ABroadcastThatWasNotSummed) {
  const TensorFunction f = [](std::span<const Tensor> x) {
    return broadcast_to(x[0], Shape{4, 3});
  };
  const PlantedBackward first_row = [](const Tensor& x, const Tensor& dy) {
    return reshape(slice(dy, 0, 0, 1), {x.size()});
  };
  const Tensor x = leaf({3}, {1.0, 2.0, 3.0});
  EXPECT_EQ(diagnosed(f, first_row, x).inputs[0].diagnosis,
            "a broadcast that was not summed: only outputs at index 0 of axis 0 reach this input, "
            "and others should");
}

TEST(DiagnosisTest, ASumWhoseGradientReachesOneSummand) {
  const TensorFunction f = [](std::span<const Tensor> x) { return sum(x[0], 1, true); };
  const PlantedBackward to_the_first = [](const Tensor&, const Tensor& dy) {
    return pad(dy, 1, 0, 3);
  };
  EXPECT_EQ(diagnosed(f, to_the_first, square()).inputs[0].diagnosis,
            "not summed over axis 1: numeric is the sum of analytic over it, the same at every "
            "index");
}

TEST(DiagnosisTest, TermsLeftOut) {
  const TensorFunction f = [](std::span<const Tensor> x) {
    return x[0] + 0.5 * transpose(x[0], 0, 1);
  };
  const PlantedBackward first_term = [](const Tensor&, const Tensor& dy) {
    return dy + constant({3, 3}, {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5}, DType::f64) * dy;
  };
  EXPECT_THAT(diagnosed(f, first_term, square()).inputs[0].diagnosis,
              StartsWith("terms are left out"));
}

TEST(DiagnosisTest, OnlySomeElements) {
  EXPECT_EQ(
      diagnosis_of([](auto& x, auto& dy) {
        return right_cube(x, dy) * constant({3, 3}, {1, 1, 1, 1, 1, 1, 1.1, 1.2, 0.7}, DType::f64);
      }),
      "only elements at index 2 of axis 0 are wrong");
}

TEST(DiagnosisTest, AllZero) {
  const std::string all_zero = "all zero: the gradient is left out, or the input detached";
  EXPECT_EQ(diagnosis_of([](auto&, auto&) { return Tensor(); }), all_zero);
  EXPECT_EQ(diagnosis_of([](auto& x, auto&) { return zeros(x.shape(), DType::f64); }), all_zero);
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

TEST(DiagnosisTest, NotLinearInTheCotangent) {
  EXPECT_EQ(diagnosis_of([](auto& x, auto& dy) {
              const std::vector<double> values = dy.to_vector();
              const bool sparse = std::ranges::count(values, 0.0) > 0;
              return (sparse ? 2.0 : 1.0) * right_cube(x, dy);
            }),
            "right for a random cotangent and wrong for single outputs: backward is not linear in "
            "its cotangent");
}

TEST(DiagnosisTest, AnUnknownPatternHasNoName) {
  EXPECT_EQ(diagnosis_of([](auto& x, auto& dy) { return right_cube(x, dy) + 0.1 * tanh(x) * dy; }),
            "");
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
