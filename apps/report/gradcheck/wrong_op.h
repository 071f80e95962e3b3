#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "framework/gradcheck/gradcheck.h"

namespace qkv {

// One op of a function, checked by itself at the numbers that it met there.
struct OpCheck {
  std::string op;      // "softmax"
  std::string place;   // in the model: "blocks.0.attention"; "" outside of any
  std::string inputs;  // "f64[2, 4, 8, 8]"
  GradcheckReport report;

  std::string to_text() const;  // "softmax f64[2, 4, 8, 8] (in blocks.0.attention)"
};

// Where is the mistake? Runs f once, and checks each op that its output depends on alone, in the
// order in which they ran. The ops that do not pass, `most` at most; none: every derivative is
// right, and a gradient that is wrong all the same was added up wrongly. An op of bf16 is left out,
// and one of f32 that is undecided.
std::vector<OpCheck> find_wrong_ops(const TensorFunction& f, std::span<const Tensor> inputs,
                                    const GradcheckOptions& options = {},
                                    size_t most = std::numeric_limits<size_t>::max());

// For GradcheckOptions: the first of them in words, and its report; "" where f is one op.
std::string name_wrong_op(const TensorFunction& f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options);

}  // namespace qkv
