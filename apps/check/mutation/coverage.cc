#include "apps/check/mutation/coverage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/gradcheck/diagnosis.h"
#include "apps/report/gradcheck/wrong_op.h"
#include "framework/autograd/backward.h"
#include "framework/core/each_of.h"
#include "framework/core/error.h"
#include "framework/core/text/columns.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/gradcheck/probe.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/op_examples.h"

namespace qkv {
namespace {

using Complaint = std::optional<std::string>;

bool has_gradient(const OpExample& example, uint64_t seed) {
  return example.f(make_inputs(example, DType::f64, RandomStream(seed))).requires_grad();
}

Complaint wrong_gradient(const OpExample& example, int order, uint64_t seed) {
  const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(seed));
  const GradcheckReport report = gradcheck(
      example.f, inputs,
      {.order = order, .seed = seed, .diagnose = diagnose, .name_wrong_op = name_wrong_op});
  if (report.passed()) return std::nullopt;
  return report.to_text();
}

// Nothing where the function holds a size of its own and takes no larger inputs.
Complaint wrong_with_threads_when_large(const OpExample& example, uint64_t seed) {
  try {
    return wrong_with_threads(enlarged(example), seed);
  } catch (const Error&) {
    return std::nullopt;
  }
}

CoverageRow row_of(const OpExamples& function, uint64_t seed) {
  CoverageRow row = {.op = function.op};
  for (const OpExample& example : function.examples) {
    const auto note = [&](Covered& cell, const char* column, const Complaint& wrong) {
      if (cell != Covered::kFail) cell = wrong ? Covered::kFail : Covered::kPass;
      if (wrong) row.failures.push_back(absl::StrCat(column, ", ", example.name, ": ", *wrong));
    };
    if (has_gradient(example, seed)) {
      note(row.order_1, "order 1", wrong_gradient(example, 1, seed));
      note(row.order_2, "order 2", wrong_gradient(example, 2, seed));
    }
    note(row.f32, "f32", wrong_in_f32(example, seed));
    note(row.determinism, "threads", wrong_with_threads(example, seed));
    note(row.determinism, "threads, enlarged", wrong_with_threads_when_large(example, seed));
  }
  return row;
}

std::string cell(Covered covered) {
  if (covered == Covered::kNo) return "-";
  return covered == Covered::kPass ? "pass" : "FAIL";
}

}  // namespace

bool CoverageRow::complete() const {
  return std::ranges::all_of(std::initializer_list<Covered>{order_1, order_2, f32, determinism},
                             [](Covered c) { return c == Covered::kPass; });
}

std::vector<CoverageRow> coverage(std::span<const OpExamples> functions, uint64_t seed) {
  return each_of(functions, [&](const OpExamples& function) { return row_of(function, seed); });
}

std::string coverage_text(std::span<const CoverageRow> rows) {
  std::vector<std::vector<std::string>> lines = {
      {"", "order 1", "order 2", "f32 ~ f64", "determinism"}};
  std::string failures;
  for (const CoverageRow& row : rows) {
    lines.push_back(
        {row.op, cell(row.order_1), cell(row.order_2), cell(row.f32), cell(row.determinism)});
    for (const std::string& failure : row.failures) {
      absl::StrAppend(&failures, row.op, ": ", failure, "\n");
    }
  }
  return aligned(lines, {.left = lines[0].size()}) + failures;
}

namespace {

constexpr int64_t kLarge = 32768;  // elements: two pieces of every kernel

struct NamedResult {
  std::string name;  // "the result", "gradient 0"
  Tensor value;
};

// The result and the gradients of the inputs that have one.
std::vector<NamedResult> results_of(const OpExample& example, const std::vector<Tensor>& inputs,
                                    uint64_t seed) {
  const Tensor y = example.f(inputs);
  std::vector<NamedResult> results = {{"the result", y}};
  if (!y.requires_grad()) return results;
  const Tensor cotangent = random_like(y, RandomStream(seed).derive("cotangent"));
  const Gradients g = backward(y, {.cotangent = cotangent});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (g.contains(inputs[i])) results.push_back({absl::StrCat("gradient ", i), g[inputs[i]]});
  }
  return results;
}

std::optional<std::string> difference(const NamedResult& narrow, const NamedResult& wide,
                                      const Tolerance& tolerance) {
  const std::vector<double> a = narrow.value.to_vector(), b = wide.value.to_vector();
  if (a.size() != b.size()) return absl::StrCat(narrow.name, ": another shape");
  for (size_t i = 0; i < a.size(); ++i) {
    const double allowed =
        tolerance.absolute + tolerance.relative * std::max(std::abs(a[i]), std::abs(b[i]));
    if (std::abs(a[i] - b[i]) <= allowed) continue;  // not for a NaN
    return absl::StrFormat("%s, element %d: %.8g in f32, %.8g in f64, tolerance %.1e", narrow.name,
                           i, a[i], b[i], allowed);
  }
  return std::nullopt;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         (a.size() == 0 || std::memcmp(a.array().raw(), b.array().raw(), a.array().bytes()) == 0);
}

// Kernels run with `count` threads while this lives.
class Threads {
 public:
  explicit Threads(int count) : outer_(kernels::num_threads()) { kernels::set_num_threads(count); }
  ~Threads() { kernels::set_num_threads(outer_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int outer_;
};

}  // namespace

std::optional<std::string> wrong_in_f32(const OpExample& example, uint64_t seed) {
  const std::vector<Tensor> narrow = make_inputs(example, DType::f32, RandomStream(seed));
  std::vector<Tensor> wide;  // the same numbers
  for (const Tensor& x : narrow) {
    const bool floating = is_floating(x.dtype());
    wide.push_back(floating ? parameter(cast(x.detached(), DType::f64).array()) : x);
  }
  const auto in_f32 = results_of(example, narrow, seed), in_f64 = results_of(example, wide, seed);
  if (in_f32.size() != in_f64.size()) return "f32 and f64 give gradients to different inputs";
  for (size_t i = 0; i < in_f32.size(); ++i) {
    if (auto wrong = difference(in_f32[i], in_f64[i], tolerance_of(DType::f32))) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> wrong_with_threads(const OpExample& example, uint64_t seed) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::vector<Tensor> inputs = make_inputs(example, dtype, RandomStream(seed));
    const auto with = [&](int threads) {
      const Threads count(threads);
      return results_of(example, inputs, seed);
    };
    const auto one = with(1), three = with(3);
    for (size_t i = 0; i < one.size(); ++i) {
      if (same_bits(one[i].value, three[i].value)) continue;
      return absl::StrCat(one[i].name, " ", one[i].value.describe(),
                          " has other bits with 3 threads than with 1");
    }
  }
  return std::nullopt;
}

OpExample enlarged(const OpExample& example) {
  std::vector<Shape> all = {
      example.f(make_inputs(example, DType::f32, RandomStream(1))).shape()};  // the result
  for (const ExampleInput& input : example.inputs) all.push_back(input.shape);
  int64_t factor = kLarge;
  for (const Shape& shape : all) {
    const auto axes = std::ranges::count_if(shape, [](int64_t size) { return size > 1; });
    if (axes == 0 || shape.size() == 0) continue;
    const double times = static_cast<double>(kLarge) / static_cast<double>(shape.size());
    const double factor_per_axis = std::ceil(std::pow(times, 1.0 / static_cast<double>(axes)));
    factor = std::min(factor, static_cast<int64_t>(factor_per_axis));  // the largest decides
  }
  OpExample large = example;
  for (ExampleInput& input : large.inputs) {
    for (int axis = 0; axis < input.shape.rank(); ++axis) {
      const int64_t size = input.shape[axis];
      if (size > 1) input.shape = input.shape.with(axis, size * factor);
    }
  }
  return large;
}

}  // namespace qkv
