#include "train/watch/finite.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/kernels/kernels.h"

namespace qkv {
namespace {

constexpr std::string_view kSum = "a sum of gradients";

}  // namespace

bool has_bad_number(std::string_view op, const Array& result) {
  return op != "masked_fill" && !kernels::all_finite(result);
}

void FiniteObserver::look(std::string_view what, const Array& array) {
  if (!first_.empty() || !array.defined() || !has_bad_number(what, array)) return;
  const std::string& scope = Scope::current();
  first_ = absl::StrCat(std::string(what), in_backward_ ? " (backward" : " (forward",
                        scope.empty() ? "" : ", in ", scope, ")");
}

Tensor FiniteObserver::forward(const std::shared_ptr<Op>& op, TensorSpan x) {
  Tensor y = next(op, x);
  look(in_backward_ && !in_formula_ ? kSum : op->name(), y.array());
  return y;
}

// Backward begins with a finite number, so a gradient that is not was added up from finite ones.
std::vector<Tensor> FiniteObserver::backward(const Op& op, const Saved& saved, const Tensor& dy) {
  look(kSum, dy.array());
  in_formula_ = true;
  std::vector<Tensor> dx = next(op, saved, dy);
  in_formula_ = false;
  for (const Tensor& gradient : dx) look(op.name(), gradient.array());
  return dx;
}

void FiniteObserver::before_section(std::string_view name) { in_backward_ |= name == "backward"; }
void FiniteObserver::after_section(std::string_view name) { in_backward_ &= name != "backward"; }

std::string advice_for_blow_up(const Config& config, int64_t updates) {
  const double rate = config.optimizer.learning_rate, decay = config.optimizer.weight_decay;
  if (updates == 0 || rate == 0) {
    return absl::StrCat(
        "The weights are still the initial ones, so the learning_rate is not the cause",
        config.train.precision == Precision::kF64
            ? ""
            : "; train.precision = \"f64\" shows whether the range of numbers is the cause");
  }
  if (rate * decay > 2) {
    return "A lower learning_rate or weight_decay may help: their product is above 2, so each step "
           "subtracts more than twice the weight";
  }
  return "A lower learning_rate or more warmup_steps may help";
}

}  // namespace qkv
