#include "apps/report/gradcheck/wrong_op.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/core/error.h"
#include "framework/gradcheck/derivatives.h"
#include "framework/graph/recorder.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// Scores that a mask has hidden are -inf, where nothing can be varied: numbers that can stand in
// their place, and the mask hides them again.
struct Hidden {
  Tensor finite, mask;

  explicit Hidden(const Array& x) : finite(x) {
    if (!is_floating(x.dtype())) return;
    std::vector<double> values = x.to_vector(), hidden;
    for (double& value : values) {
      hidden.push_back(value == -kInfinityOf<double> ? 1.0 : 0.0);
      if (value == -kInfinityOf<double>) value = 0.0;
    }
    if (std::ranges::find(hidden, 1.0) == hidden.end()) return;
    finite = Tensor(Array::of(x.shape(), x.dtype(), values));
    mask = Tensor(Array::of(x.shape(), DType::boolean, hidden));
  }
};

std::vector<Tensor> at_infinity(std::span<const Tensor> x, const std::vector<Tensor>& masks) {
  std::vector<Tensor> all(x.begin(), x.end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (masks[i].defined()) all[i] = masked_fill(all[i], masks[i], -kInfinityOf<double>);
  }
  return all;
}

std::vector<RecordedOp> ops_of(const TensorFunction& f, std::span<const Tensor> inputs) {
  std::vector<RecordedOp> ops;
  const Tensor y = [&] {
    const Recorder recorder(ops);
    return Recorded(f, inputs).output();
  }();
  return ops_behind(y, ops);
}

// Whether the op can be checked alone.
bool is_checked(const RecordedOp& each) {
  const auto is_number = [](const Tensor& x) { return is_floating(x.dtype()); };
  const auto is_bf16 = [&](const Tensor& x) { return x.dtype() == DType::bf16; };
  return std::ranges::any_of(each.x, is_number) && std::ranges::none_of(each.x, is_bf16) &&
         !is_bf16(each.y);
}

}  // namespace

std::string OpCheck::to_text() const {
  return absl::StrCat(op, " ", inputs, place.empty() ? "" : absl::StrCat(" (in ", place, ")"));
}

std::vector<OpCheck> find_wrong_ops(const TensorFunction& f, std::span<const Tensor> inputs,
                                    const GradcheckOptions& options, size_t most) {
  GradcheckOptions of_one = options;
  of_one.name_wrong_op = nullptr;
  std::vector<OpCheck> wrong;
  for (const RecordedOp& each : ops_of(f, inputs)) {
    if (wrong.size() == most) break;
    if (!is_checked(each)) continue;
    std::vector<Tensor> at, masks;
    std::vector<std::string> described;
    for (const Tensor& x : each.x) {
      const Hidden hidden(x.array());
      at.push_back(hidden.finite);
      masks.push_back(hidden.mask);
      described.push_back(x.describe());
    }
    const Hidden output(each.op->forward(Inputs(at_infinity(at, masks))));
    const ScopeAt scope(each.scope);
    const TensorFunction alone = [&](std::span<const Tensor> x) {
      const Tensor result = replay(each, at_infinity(x, masks));
      return output.mask.defined() ? masked_fill(result, output.mask, 0.0) : result;
    };
    GradcheckReport report = gradcheck(alone, at, of_one);
    const bool is_hidden = report.verdict() == Verdict::kUndecided;
    if (report.passed() || (is_hidden && report.computed_in == "f32")) continue;
    wrong.push_back({.op = std::string(each.op->name()),
                     .place = each.scope,
                     .inputs = absl::StrJoin(described, ", "),
                     .report = std::move(report)});
  }
  return wrong;
}

std::string name_wrong_op(const TensorFunction& f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options) {
  if (ops_of(f, inputs).size() < 2) return "";
  const std::vector<OpCheck> wrong =
      find_wrong_ops(f, inputs, {.order = options.order, .diagnose = options.diagnose}, 1);
  if (wrong.empty()) return "none of its ops fails when checked alone\n";
  return absl::StrCat("the first op that does not pass when checked alone is ", wrong[0].to_text(),
                      "\n", wrong[0].report.to_text());
}

}  // namespace qkv
