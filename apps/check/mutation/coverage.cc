#include "apps/check/mutation/coverage.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "apps/check/mutation/example_checks.h"
#include "apps/report/gradcheck/diagnosis.h"
#include "apps/report/gradcheck/wrong_op.h"
#include "framework/core/columns.h"
#include "framework/core/each_of.h"
#include "framework/core/error.h"
#include "framework/gradcheck/gradcheck.h"

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

}  // namespace qkv
