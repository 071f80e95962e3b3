#include "train/run/finite.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/kernels/elementwise.h"

namespace qkv {

int64_t count_not_finite(const Array& array) {
  if (kernels::all_finite(array)) return 0;
  return std::ranges::count_if(array.to_vector(), [](double x) { return !std::isfinite(x); });
}

void FiniteObserver::look(const Op& op, const Array& array, const char* direction) {
  if (!first_.empty() || !array.defined() || op.name() == "masked_fill") return;
  if (kernels::all_finite(array)) return;
  const std::string& scope = Scope::current();
  first_ = absl::StrCat(std::string(op.name()), " (", direction, scope.empty() ? "" : ", in ",
                        scope, ")");
}

void FiniteObserver::after_forward(const std::shared_ptr<Op>& op, TensorSpan, const Tensor& y) {
  look(*op, y.array(), "forward");
}

void FiniteObserver::after_backward(const Op& op, const Tensor&, std::span<const Tensor> dx) {
  for (const Tensor& gradient : dx) look(op, gradient.array(), "backward");
}

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
    return "A lower weight_decay may help: learning_rate * weight_decay is above 2, so each step "
           "subtracts more than twice the weight";
  }
  return "A lower learning_rate or more warmup_steps may help";
}

}  // namespace qkv
