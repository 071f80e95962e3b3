#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "framework/core/array.h"
#include "framework/graph/middleware.h"
#include "train/config/train_options.h"

namespace qkv {

// While it lives, looks at every result, forward and backward, for a number that is not finite; and
// at the sums of gradients, which no op makes.
class FiniteObserver final : public Middleware {
 public:
  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override;
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override;
  void before_section(std::string_view name) override;
  void after_section(std::string_view name) override;

  // "softmax (backward, in blocks.1.attention)"; "" when all was finite.
  const std::string& first() const { return first_; }

 private:
  void look(std::string_view what, const Array& array);

  std::string first_;
  bool in_backward_ = false, in_formula_ = false;  // of an op's backward
};

// For the result of an op. Masked scores are -inf on purpose.
bool has_bad_number(std::string_view op, const Array& result);

// A sentence on what may help a run whose numbers stopped being finite after `updates` of its
// weights.
std::string advice_for_blow_up(const Config& config, int64_t updates);

}  // namespace qkv
