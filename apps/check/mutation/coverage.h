#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/ops/support/op_examples.h"

namespace qkv {

enum class Covered { kNo, kPass, kFail };

// The properties of one op that its examples check. kNo: no example checks it.
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

// A table, and the failures.
std::string coverage_text(std::span<const CoverageRow> rows);

// The properties of an example beside its gradients. Each says what is wrong, or nothing.

// The example, and its gradients with a random cotangent, in f32 against f64 on the same numbers.
std::optional<std::string> wrong_in_f32(const OpExample& example, uint64_t seed);

// They have the same bits with one thread and with three, in f32 and f64.
std::optional<std::string> wrong_with_threads(const OpExample& example, uint64_t seed);

// The example with every size above 1 multiplied, until its largest input or its result has 32,768
// elements, which kernels share among threads. Sizes that were equal stay equal. Where the function
// itself holds a size, calling it may throw Error.
OpExample enlarged(const OpExample& example);

}  // namespace qkv
