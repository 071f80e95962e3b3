#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/ops/examples.h"

namespace qkv {

enum class Covered { kNo, kPass, kFail };

// What is checked of one op by its examples. kNo: none of them says anything about it.
struct CoverageRow {
  std::string op;
  Covered order_1 = Covered::kNo;      // gradients in f64 against numeric ones
  Covered order_2 = Covered::kNo;      // the gradients of the gradients, too
  Covered f32 = Covered::kNo;          // results and gradients in f32 against f64
  Covered determinism = Covered::kNo;  // the same bits for any number of threads, large shapes too
  std::vector<std::string> failures = {};  // "order 2, rows of 5: …"

  bool complete() const;  // every column passes
};

// One row for each function, from its examples.
std::vector<CoverageRow> coverage(std::span<const OpExamples> functions, uint64_t seed = 1);

// A table, and what failed.
std::string coverage_text(std::span<const CoverageRow> rows);

}  // namespace qkv
