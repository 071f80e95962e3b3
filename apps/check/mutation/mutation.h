#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/check/mutation/mistakes.h"
#include "framework/core/terminal.h"
#include "framework/ops/examples.h"

// Mutation testing: is the gradient check worth anything? Mistakes are planted in the backward
// formulas, one at a time, and each must be caught by the check of an example. They are planted as
// a formula runs, without building anything again: in each step (an op that the formula calls), in
// each gradient that it returns, in each tensor that it reads of the forward or of the op's fields,
// and in the sum of the gradients of a tensor that is used more than once. DeMillo, Lipton and
// Sayward, "Hints on test data selection", 1978.
namespace qkv {

// A backward formula with one mistake.
struct Mutant {
  std::string function;  // whose examples must catch it: "softmax"
  std::string op;        // whose backward is wrong: "softmax"
  MistakeKind kind = MistakeKind::kSign;
  std::string where = "";   // "mul(y, sub(dy, sum(…)))", "dx[0] = mul(y, dy)", "saved y"
  std::string change = "";  // "is negated"

  std::string to_text() const;  // "softmax: mul(y, dy) is negated", "mean: sum: dx[0] …"
};

struct MutationResult {
  Mutant mutant;
  bool killed = false;
  std::string example = "";  // the one that caught it
  std::string how =
      "";  // what its report says: "order 1: does not agree over 6 x 6 derivatives: …"
  std::string equivalent_because = "";  // not empty: no check can catch it, for this reason
};

// How many mistakes of a kind were planted, without those that no check can catch.
struct MutationCount {
  int64_t killed = 0, planted = 0;
};
struct MutationRow {
  std::string function;
  std::array<MutationCount, kMistakeKinds + 1> counts;  // of each kind, and of all
};

struct MutationReport {
  std::vector<MutationResult> results = {};
  int64_t not_runnable = 0;  // mutants that are no functions: shapes clash

  int64_t killed() const;
  int64_t equivalent() const;  // and not killed
  std::vector<Mutant> survivors() const;
  std::vector<MutationRow> rows() const;  // of the functions in their order, and of "all"
  double score() const;                   // killed / (all that are not equivalent), in percent
  // A table of functions and kinds, "killed/planted" in each cell; the equivalents with their
  // reasons; the survivors; the score.
  std::string to_text() const;
};

struct MutationOptions {
  uint64_t seed = 1;  // of the inputs and the cotangents
  // The highest order that is checked. A mistake in a formula that only runs for the derivatives of
  // derivatives is not seen by the first.
  int order = 2;
  TellProgress tell = tell_nobody;  // hears which function has its mistakes planted
};

// Plants every mistake in the formulas that the examples run, one at a time. An op with examples of
// its own is changed in those alone; a function that is no op (mean, a layer) is checked with
// mistakes in every op that it calls. An op whose backward runs in f32 alone (cast) must be caught
// by the comparison of f32 with f64. Throws Error when an example does not pass as it is.
MutationReport run_mutations(std::span<const OpExamples> functions,
                             const MutationOptions& options = {});

// Mutants that compute the same derivatives as the formula they were made from: of an op whoever
// calls it, or only where one function does.
struct EquivalentMutant {
  const char* mutant;  // Mutant::to_text()
  const char* because;
};
std::span<const EquivalentMutant> equivalent_mutants();

}  // namespace qkv
