#include "apps/check/precision/precision_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "framework/core/dtype.h"
#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/graph/saved.h"
#include "framework/nn/layer_examples.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::HasSubstr;

// Every example of every op, layers too: PASS, or the report.
class PrecisionOfExamplesTest : public testing::TestWithParam<DType> {
 protected:
  static void expect_pass(const std::string& name, const OpExample& example,
                          const std::vector<Tensor>& inputs, uint64_t seed) {
    const PrecisionReport report =
        precision_check(example.f, inputs, {.seed = seed, .names = example.input_names});
    EXPECT_TRUE(report.passed()) << name << ", " << example.name << ", seed " << seed << "\n"
                                 << report.to_text();
  }
};

TEST_P(PrecisionOfExamplesTest, EveryOpPassesAtSeveralPoints) {
  for (const OpExamples& op : op_examples()) {
    for (const OpExample& example : op.examples) {
      for (const uint64_t seed : {1, 2}) {
        const auto inputs = inputs_in(GetParam(), example, seed);
        if (inputs) expect_pass(op.op, example, *inputs, seed);
      }
    }
  }
}

TEST_P(PrecisionOfExamplesTest, EveryLayerPasses) {
  const Initializer init(RandomStream(1), DType::f32, GetParam() == DType::bf16);
  for (const OpExamples& layer : layer_examples(init)) {
    for (const OpExample& example : layer.examples) {
      expect_pass(layer.op, example, make_inputs(example, DType::f32, RandomStream(3)), 3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PrecisionCheck, PrecisionOfExamplesTest,
                         testing::Values(DType::f32, DType::bf16),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

TEST(PrecisionCheckTest, MostOpsComeNearTheirBound) {
  int near = 0, all = 0;
  for (const OpExamples& op : op_examples()) {
    double largest = 0.0;
    for (const OpExample& example : op.examples) {
      const PrecisionReport report = precision_check(example.f, *inputs_in(DType::f32, example, 1));
      largest = std::max(largest, report.largest_ratio());
    }
    ++all;
    near += largest > 0.02;
  }
  EXPECT_GT(near, all / 2);  // a bound that is far too wide catches nothing
}

// An op whose largest result in f32 is off by a part.
class OffByAPart final : public Op {
 public:
  OffByAPart(std::shared_ptr<Op> op, double part) : op_(std::move(op)), part_(part) {}
  std::string_view name() const override { return op_->name(); }
  Saves saves() const override { return op_->saves(); }
  Array forward(const Inputs& x) override {
    Array y = op_->forward(x);
    if (y.dtype() != DType::f32) return y;
    std::vector<double> values = y.to_vector();
    size_t largest = values.size();
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      if (largest == values.size() || std::abs(values[i]) > std::abs(values[largest])) largest = i;
    }
    if (largest < values.size()) values[largest] *= 1.0 + part_;
    return Array::of(y.shape(), y.dtype(), values);
  }
  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return op_->backward(saved, dy);
  }

 private:
  std::shared_ptr<Op> op_;
  double part_;
};

class PlantsInKernel final : public Middleware {
 public:
  explicit PlantsInKernel(std::string_view op) : Middleware(Role::kChanges), op_(op) {}
  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override {
    if (op->name() != op_) return next(op, x);
    ++planted_;
    return next(std::make_shared<OffByAPart>(op, 1e-3), x);
  }
  int planted() const { return planted_; }

 private:
  std::string_view op_;
  int planted_ = 0;
};

TEST(PrecisionCheckTest, AKernelWithOneElementAThousandthOffFails) {
  int kernels = 0;
  for (const OpExamples& op : op_examples()) {
    const OpExample& example = op.examples[0];
    const auto inputs = inputs_in(DType::f32, example, 1);
    PlantsInKernel kernel(op.op);
    const PrecisionReport report = precision_check(example.f, *inputs);
    if (kernel.planted() == 0) continue;  // it is made of other ops
    ++kernels;
    EXPECT_EQ(report.verdict(), Verdict::kFail) << op.op << "\n" << report.to_text();
  }
  EXPECT_GT(kernels, 35);
}

// What training runs, and the composed formula that it must equal: y and dx.
class Fused final : public Op {
 public:
  using Forward = std::function<Array(const Array& x)>;
  using Backward = std::function<Tensor(const Tensor& x, const Tensor& dy)>;
  Fused(Forward y, Backward dx) : y_(std::move(y)), dx_(std::move(dx)) {}
  std::string_view name() const override { return "fused"; }
  Array forward(const Inputs& x) override { return y_(x[0]); }
  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {dx_(saved.input(0), dy)};
  }

 private:
  Forward y_;
  Backward dx_;
};

PrecisionReport check_fused(const Fused::Forward& y, const Fused::Backward& dx,
                            Tensor (*composed)(const Tensor&), const Tensor& x) {
  const TensorFunction f = [&](std::span<const Tensor> inputs) {
    return composed_only() ? composed(inputs[0]) : apply<Fused>({inputs[0]}, y, dx);
  };
  return precision_check(f, {&x, 1});
}

Tensor sum_of_rows(const Tensor& x) { return sum(x, -1); }
Tensor spread(const Tensor& x, const Tensor& dy) {
  return broadcast_to(reshape(dy, {dy.dim(0), 1}), x.shape());
}

// Sums of rows [2, n], with each partial sum rounded.
Array sums_rounded_by(double (*rounded)(double), const Array& x) {
  const std::vector<double> values = x.to_vector();
  std::vector<double> sums(2);
  for (size_t i = 0; i < values.size(); ++i) {
    double& s = sums[i / (values.size() / 2)];
    s = rounded(s + values[i]);
  }
  return Array::of({2}, DType::f32, sums);
}

TEST(PrecisionCheckTest, ASumInBf16FailsWhereASumInF32Passes) {
  const Tensor x = normal_like(zeros({2, 40}), 3);
  const auto in_f32 = [](double s) { return static_cast<double>(static_cast<float>(s)); };
  const auto in_bf16 = [](double s) {
    return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(s))));
  };
  const auto check = [&](double (*rounded)(double)) {
    return check_fused([=](const Array& a) { return sums_rounded_by(rounded, a); }, spread,
                       sum_of_rows, x);
  };
  EXPECT_EQ(check(in_f32).verdict(), Verdict::kPass) << check(in_f32).to_text();
  EXPECT_EQ(check(in_bf16).verdict(), Verdict::kFail);
}

Tensor third(const Tensor& x) { return scale(x, 1.0 / 3); }

TEST(PrecisionCheckTest, AScaleThatIsLeftOutOfAFusedBackwardFails) {
  const Tensor x = normal_like(zeros({2, 3}), 3);
  const auto forward = [](const Array& a) { return third(Tensor(a)).array(); };
  const auto check = [&](const Fused::Backward& dx) { return check_fused(forward, dx, third, x); };
  EXPECT_TRUE(check([](const Tensor&, const Tensor& dy) { return third(dy); }).passed());
  const PrecisionReport wrong = check([](const Tensor&, const Tensor& dy) { return dy; });
  EXPECT_EQ(wrong.results[0].verdict, Verdict::kPass);
  EXPECT_EQ(wrong.results[1].verdict, Verdict::kFail);
  EXPECT_THAT(wrong.to_text(), HasSubstr("FAIL  the gradient of input 0 f32[2, 3]: 6 compared, "));
}

TEST(PrecisionCheckTest, ANanFails) {
  const auto nan = [](const Array& a) {
    return Array::full(a.shape(), a.dtype(), std::numeric_limits<double>::quiet_NaN());
  };
  const auto dx = [](const Tensor&, const Tensor& dy) { return third(dy); };
  EXPECT_EQ(check_fused(nan, dx, third, ones({2})).verdict(), Verdict::kFail);
}

// Attention without its scale in bf16: the kernels are compared, and not formulas.
TEST(PrecisionCheckTest, AttentionInBf16WithoutItsScaleFails) {
  const auto check = [](double scale) {
    const TensorFunction f = [=](std::span<const Tensor> x) {
      return attention(x[0], x[1], x[2], {.scale = composed_only() ? 0.5 : scale});
    };
    std::vector<Tensor> inputs;
    for (const uint64_t seed : {1, 2, 3}) {
      inputs.push_back(normal_like(zeros({1, 4, 2, 4}, DType::bf16), seed));
    }
    return precision_check(f, inputs).verdict();
  };
  EXPECT_EQ(check(0.5), Verdict::kPass);
  EXPECT_EQ(check(1.0), Verdict::kFail);
}

Tensor relu_of_square(const Tensor& x) { return relu(x * x - 0.01); }

// 0.1² - 0.01 is nothing but rounding: a kernel that takes the other side is no mistake.
TEST(PrecisionCheckTest, AtAKinkItIsUndecided) {
  const auto forward = [](const Array& a) { return relu_of_square(Tensor(a)).array(); };
  const auto check = [&](double x) {
    const auto zero = [](const Tensor& point, const Tensor&) { return zeros(point.shape()); };
    const auto slope = [](const Tensor& point, const Tensor& dy) { return point * dy * 2.0; };
    const Tensor at = constant({1}, {x});
    return std::pair(check_fused(forward, zero, relu_of_square, at).verdict(),
                     check_fused(forward, slope, relu_of_square, at).verdict());
  };
  const auto [left, right] = check(0.1);
  EXPECT_EQ(worse(left, right), Verdict::kUndecided);  // one of the two agrees
  EXPECT_EQ(check(0.2), std::pair(Verdict::kFail, Verdict::kPass));
}

// 0.3 times 0.3 is rounded down in f32. Beside that number it is the second of two equal ones, or
// exactly the larger.
TEST(PrecisionCheckTest, AMaxThatMayChooseAnotherElementIsCounted) {
  const TensorFunction f = [](std::span<const Tensor> x) {
    return max(concat({x[1], x[0] * x[0]}, 0), 0);
  };
  const float x = 0.3F, square = x * x;
  ASSERT_LT(static_cast<double>(square), static_cast<double>(x) * static_cast<double>(x));
  for (const float other : {square, 0.5F}) {
    const std::vector<Tensor> inputs = {constant({1}, {x}), constant({1}, {other})};
    EXPECT_EQ(precision_check(f, inputs).kinks > 0, other == square);
  }
}

TEST(PrecisionCheckTest, WhereRoundingsLeaveNothingItIsUndecided) {
  const TensorFunction f = [](std::span<const Tensor> x) {
    Tensor y = x[0];
    for (int i = 0; i < 256; ++i) y = cast(cast(y * 1.01, DType::bf16), DType::f32);
    return y;
  };
  const std::vector<Tensor> x = {ones({2})};
  const PrecisionReport report = precision_check(f, x);
  EXPECT_EQ(report.verdict(), Verdict::kUndecided);
  EXPECT_GE(report.roundings, 1.0);
}

TEST(PrecisionCheckTest, ComparesTheWorstElementsOfALargeResult) {
  const Tensor x = normal_like(zeros({40, 40}), 3);
  const auto off_at_one = [](const Array& a) {
    std::vector<double> y = third(Tensor(a)).to_vector();
    y[777] += 1e-3;
    return Array::of(a.shape(), a.dtype(), y);
  };
  const auto dx = [](const Tensor&, const Tensor& dy) { return third(dy); };
  const PrecisionReport report = check_fused(off_at_one, dx, third, x);
  EXPECT_EQ(report.results[0].elements.size(), 8U);
  EXPECT_EQ(report.results[0].elements[0].element, 777);
  EXPECT_THAT(report.to_text(), HasSubstr("FAIL at [19, 17]: "));
}

TEST(PrecisionCheckTest, TakesAsManyInputsInBf16AsTheFunctionDoes) {
  const OpExample linear_of = {
      "linear",
      {{Fill::kNormal, {2, 3}}, {Fill::kNormal, {4, 3}}, {Fill::kNormal, {4}}},
      [](std::span<const Tensor> x) { return linear(x[0], x[1], x[2]); }};
  const auto inputs = inputs_in(DType::bf16, linear_of, 1);
  ASSERT_TRUE(inputs.has_value());
  EXPECT_EQ((*inputs)[0].dtype(), DType::bf16);
  EXPECT_EQ((*inputs)[1].dtype(), DType::f32);
  const OpExample exp_of = {
      "exp", {{Fill::kNormal, {2}}}, [](std::span<const Tensor> x) { return exp(x[0]); }};
  EXPECT_FALSE(inputs_in(DType::bf16, exp_of, 1).has_value());
}

}  // namespace
}  // namespace qkv
