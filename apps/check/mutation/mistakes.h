#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "framework/graph/op.h"

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
inline constexpr int kMistakeKinds = 11;
std::string_view mistake_name(MistakeKind kind);  // "swapped operands"

// One op of a backward formula is run wrongly.
struct StepMistake {
  MistakeKind kind;
  const char* change;  // "is negated"
  // Whether the mistake can be made, and changes what is computed, where `op` made y.
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

}  // namespace qkv
