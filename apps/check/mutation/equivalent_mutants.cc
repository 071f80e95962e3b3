#include <span>

#include "apps/check/mutation/mutation.h"

namespace qkv {
namespace {

constexpr char kNoSmoothing[] = "without label smoothing the constant is 0";
constexpr char kSquared[] = "the variance squares it: (-x)² = x²";

constexpr char kPairs[] = "axes are turned there and back, and (-1)² = 1";
constexpr char kMaskedTwice[] = "the derivative of softmax is 0 already where it is masked";

constexpr char kTwoSlices[] = "scores are cut along both axes, and (-1)² = 1";
constexpr char kFromZeros[] = "the state before the first position is 0";

constexpr EquivalentMutant kEquivalent[] = {
    {"cross_entropy: add_scalar(constant) is its first operand", kNoSmoothing},
    {"layer_norm: sub(x[0], scale(sum(x[0]))), no. 2 is negated", kSquared},
    {"layer_norm: sub(x[0], scale(sum(x[0]))), no. 2 has its operands swapped", kSquared},
    {"LearnedMixing: masked_fill: masked_fill(dy) masks nothing", kMaskedTwice},
    {"LearnedMixing: pad: dx[0] = slice(dy) is negated", kTwoSlices},
    {"Recurrence: rnn: saved x[2] was written over since the forward", kFromZeros},
    {"Recurrence: lstm: saved x[2] was written over since the forward", kFromZeros},
    {"Recurrence: lstm: slice(mul(slice(…), mul(…, …))), no. 4 is negated", kFromZeros},
    {"Recurrence: lstm: slice(mul(slice(…), mul(…, …))), no. 4 is doubled", kFromZeros},
    {"Recurrence: lstm: mul(add(slice(…), mul(…, …)), slice(mul(…, …))), no. 11 is negated",
     kFromZeros},
    {"Recurrence: lstm: mul(add(slice(…), mul(…, …)), slice(mul(…, …))), no. 11 is doubled",
     kFromZeros},
    {"Recurrence: lstm: mul(add(slice(…), mul(…, …)), slice(mul(…, …))), no. 11 is its second "
     "operand",
     kFromZeros},
    {"Recurrence: lstm: mul(add(slice(…), mul(…, …)), slice(mul(…, …))), no. 11 is transposed",
     kFromZeros},
    {"MultiHeadAttention: masked_fill: masked_fill(dy) masks nothing", kMaskedTwice},
    {"MultiHeadAttention: permute: dx[0] = permute(dy) is negated", kPairs},
};

}  // namespace

std::span<const EquivalentMutant> equivalent_mutants() { return kEquivalent; }

}  // namespace qkv
