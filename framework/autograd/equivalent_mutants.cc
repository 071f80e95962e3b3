#include <span>

#include "framework/autograd/mutation.h"

namespace qkv {
namespace {

constexpr char kNoSmoothing[] = "without label smoothing the constant is 0";
constexpr char kSquared[] = "the variance squares it: (-x)² = x²";

constexpr EquivalentMutant kEquivalent[] = {
    {"cross_entropy: add_scalar(constant) is its first operand", kNoSmoothing},
    {"layer_norm: sub(x[0], scale(sum(x[0]))), no. 2 is negated", kSquared},
    {"layer_norm: sub(x[0], scale(sum(x[0]))), no. 2 has its operands swapped", kSquared},
};

}  // namespace

std::span<const EquivalentMutant> equivalent_mutants() { return kEquivalent; }

}  // namespace qkv
