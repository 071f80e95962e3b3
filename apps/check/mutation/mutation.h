#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/core/text/names.h"
#include "framework/core/text/terminal.h"
#include "framework/graph/op.h"
#include "framework/ops/support/op_examples.h"

// Mutation testing: is the gradient check worth anything? Mistakes are planted in the backward
// formulas, one at a time, and each must be caught by the check of an example. They are planted as
// a formula runs, without building anything again: in each step (an op that the formula calls), in
// each gradient that it returns, in each tensor that it reads of the forward or of the op's fields,
// and in the sum of the gradients of a tensor that is used more than once. DeMillo, Lipton and
// Sayward, "Hints on test data selection", 1978.
namespace qkv {

// The kinds of mistakes that people make in backward formulas.
enum class MistakeKind {
  kSign,
  kFactor,
  kDroppedTerm,
  kSwapped,     // operands, or the gradients of two inputs
  kTransposed,  // numbers in the order of the other axis
  kMissingSum,  // over the axes of a broadcast: the first slice instead
  kMissingMask,
  kMissingScale,  // as 1 / sqrt(d_k)
  kStale,         // a saved tensor, or one in a field, was overwritten since the forward
  kOverwritten,   // one gradient instead of the sum of two
  kOneElement,    // one element with an error of a thousandth
};
template <>
inline constexpr Named<MistakeKind> kNames<MistakeKind>[] = {
    {"sign", MistakeKind::kSign},
    {"factor", MistakeKind::kFactor},
    {"dropped term", MistakeKind::kDroppedTerm},
    {"swapped operands", MistakeKind::kSwapped},
    {"transposed", MistakeKind::kTransposed},
    {"missing broadcast sum", MistakeKind::kMissingSum},
    {"missing mask", MistakeKind::kMissingMask},
    {"missing scale", MistakeKind::kMissingScale},
    {"stale saved tensor", MistakeKind::kStale},
    {"overwritten gradient", MistakeKind::kOverwritten},
    {"one element", MistakeKind::kOneElement}};
inline constexpr size_t kMistakeKinds = std::size(kNames<MistakeKind>);

// One op of a backward formula is run wrongly.
struct StepMistake {
  MistakeKind kind;
  const char* change;  // "is negated"
  // Whether the mistake can be made where `op` made y, and changes the result.
  bool (*fits)(Op& op, std::span<const Tensor> inputs, const Tensor& y);
  // Replaces running `op`.
  Tensor (*run)(std::shared_ptr<Op> op, std::vector<Tensor> inputs);
};
std::span<const StepMistake> step_mistakes();

// One gradient that a backward returns is wrong.
struct GradientMistake {
  MistakeKind kind;
  const char* change;
  bool (*fits)(std::span<const Tensor> dx, size_t i);
  void (*spoil)(std::vector<Tensor>& dx, size_t i);
};
std::span<const GradientMistake> gradient_mistakes();

// x with other numbers, as if its storage had been written over by its neighbour's: each element is
// the one after it.
Tensor stale(const Tensor& x);

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
  std::string how = "";  // from its report: "order 1: does not agree over 6 x 6 derivatives: …"
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
  int64_t not_runnable = 0;  // mutants that cannot run: shapes clash

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
  TellProgress tell = tell_nobody;  // gets the name of each function
};

// Plants every mistake in the formulas that the examples run, one at a time. An op with examples of
// its own is changed in those alone; a function that is not an op (mean, a layer) is checked with
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
