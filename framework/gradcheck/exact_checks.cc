#include "framework/gradcheck/exact_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "framework/autograd/hessian.h"
#include "framework/gradcheck/arithmetic.h"
#include "framework/gradcheck/derivatives.h"
#include "framework/gradcheck/slopes.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// The other ways at one point.
class OtherWays {
 public:
  OtherWays(const Probe& f, const Recorded& recorded, const Tensor& cotangent)
      : double_backward_(recorded, cotangent), forward_mode_(f.function(), f.inputs()) {
    const ComposedOnly composed_only;
    composed_ = Recorded(f.function(), f.inputs()).gradients(cotangent);
  }

  // Jᵀv, with create_graph and by the composed formulas.
  std::array<Tensor, 2> gradients(size_t i) const {
    return {double_backward_.gradients()[i], composed_[i]};
  }
  Tensor by_double_backward(std::span<const Tensor> u) const { return double_backward_.product(u); }
  Tensor by_forward_mode(std::span<const Tensor> u) const { return forward_mode_.derivative(u); }

 private:
  DoubleBackward double_backward_;
  ForwardMode forward_mode_;
  std::vector<Tensor> composed_;
};

Numbers numbers_or_none(const Tensor& x) { return x.defined() ? numbers_of(x) : Numbers(); }

class ExactChecks {
 public:
  ExactChecks(const Probe& f, const Recorded& recorded, const FormulaCheck& formula)
      : f_(f),
        formula_(formula),
        cotangent_(tensor_of(formula.cotangent, f.value_shape(), f.arithmetic().dtype)),
        ways_(f, recorded, cotangent_),
        may_be_rounding_(formula.report.verdict != Verdict::kFail) {}

  // All inputs at once; where that does not agree, one by one.
  void check(std::span<InputReport> reports) {
    InputReport all;
    std::vector<size_t> inputs;
    for (const InputReport& report : reports) inputs.push_back(report.input);
    check_along_u(inputs, all);
    const bool is_right = all.dot_product.verdict == Verdict::kPass &&
                          all.forward.verdict == Verdict::kPass && all.dot_product.note.empty();
    for (InputReport& report : reports) {
      if (report.shape.size() == 0) continue;
      if (is_right) {
        report.dot_product = all.dot_product;
        report.forward = all.forward;
        report.no_forward_rule = all.no_forward_rule;
      } else {
        check_along_u({&report.input, 1}, report);
      }
      check_composed(report);
      for (const Verdict verdict :
           {report.dot_product.verdict, report.composed.verdict, report.forward.verdict}) {
        report.verdict = worse(report.verdict, verdict);
      }
    }
  }

 private:
  // Checks these inputs together.
  void check_along_u(std::span<const size_t> inputs, InputReport& report) {
    std::vector<Tensor> u(f_.size());
    along_u_ = {};
    bool any = false;
    for (const size_t i : inputs) {
      u[i] = tensor_of(formula_.direction[i], f_.inputs()[i].shape(), f_.arithmetic().dtype);
      along_u_.add(dot(formula_.gradients[i], formula_.direction[i]));
      any |= !formula_.gradients[i].empty();
    }
    const auto by_double_backward = [&](const OtherWays& w) { return w.by_double_backward(u); };
    const Tensor ju = by_double_backward(ways_);
    if (!ju.defined() && any) {
      report.dot_product.note = "not tested: the backward is not differentiable by its cotangent";
    } else {
      report.dot_product = against(numbers_or_none(ju), inputs,
                                   "backward and its own transpose differ", by_double_backward);
    }
    const auto by_forward_mode = [&](const OtherWays& w) { return w.by_forward_mode(u); };
    try {
      report.forward = against(numbers_or_none(by_forward_mode(ways_)), inputs,
                               "forward mode and backward differ", by_forward_mode);
    } catch (const NoForwardRule& error) {
      report.no_forward_rule = error.op();
    }
  }

  // <u, Jᵀv> against <v, Ju>.
  template <class Way>
  Agreement against(const Numbers& ju, std::span<const size_t> inputs, const char* differs,
                    const Way& way) const {
    const Sum other = dot(ju, formula_.cotangent);
    const auto compared = [&](Float128 change) {
      Agreement result = compare_exact(along_u_.value, other.value, along_u_.size + other.size,
                                       formula_.sizes.rounding() + kMargin * change);
      if (result.verdict == Verdict::kFail) result.note = differs;
      return result;
    };
    Agreement result = compared(0);
    if (result.verdict == Verdict::kPass || !may_be_rounding_) return result;
    Float128 change = dot(changes_of(way), formula_.cotangent).size;
    for (const size_t i : inputs) {
      const auto by_composed = [&](const OtherWays& w) { return w.gradients(i)[1]; };
      change += dot(changes_of(by_composed), formula_.direction[i]).size;
    }
    return compared(change);
  }

  // How far rounding moves the result of way(ways): a composed formula may lose digits that a fused
  // one keeps, as 1 + erf(x) does far on the left.
  template <class Way>
  Numbers changes_of(const Way& way) const {
    return changes_by_rounding(RandomStream(0).derive("exact"), f_.arithmetic().roundoff, [&] {
      const Recorded recorded(f_.function(), f_.inputs());
      return std::vector<Numbers>{numbers_or_none(way(OtherWays(f_, recorded, cotangent_)))};
    })[0];
  }

  // Beside the gradient that training computes.
  void check_composed(InputReport& report) const {
    const Numbers& fused = formula_.gradients[report.input];
    for (size_t way = 0; way < 2; ++way) {
      const auto by_way = [&](const OtherWays& w) { return w.gradients(report.input)[way]; };
      const Numbers composed = numbers_or_none(by_way(ways_));
      compare_elements(fused, composed, Numbers(composed.size()), report);
      if (report.composed.verdict == Verdict::kPass || !may_be_rounding_) continue;
      report.composed = {};
      compare_elements(fused, composed, changes_of(by_way), report);
    }
  }

  void compare_elements(const Numbers& fused, const Numbers& composed, const Numbers& changes,
                        InputReport& report) const {
    const Float128 largest = std::max(largest_of(fused), largest_of(composed));
    const Numbers& scales = f_.scales(report.input);
    for (size_t j = 0; j < std::max(fused.size(), composed.size()); ++j) {
      const Float128 change = composed.empty() ? 0 : changes[j];
      const Agreement agreement =
          compare_exact(fused.empty() ? 0 : fused[j], composed.empty() ? 0 : composed[j], largest,
                        formula_.sizes.rounding() / scales[j] + kMargin * change);
      const bool is_worse = !(agreement.error <= report.composed.error);
      if (!is_worse && agreement.verdict == Verdict::kPass) continue;
      if (!is_worse && report.composed.verdict == Verdict::kFail) continue;
      static_cast<Agreement&>(report.composed) = agreement;
      report.composed.element = static_cast<int64_t>(j);
      if (agreement.verdict == Verdict::kFail) {
        report.composed.note = "the fused and the composed backward differ";
      }
    }
  }

  const Probe& f_;
  const FormulaCheck& formula_;
  Tensor cotangent_;
  OtherWays ways_;
  bool may_be_rounding_;  // a disagreement; not where the formula is wrong
  Sum along_u_;           // of the input that is checked
};

constexpr Float128 kUnit = 0x1p-53;

void compare_in_f64(const Numbers& exact, const Numbers& in_f64, const Numbers& changes,
                    Float128 rounding, InputReport& report) {
  const Float128 largest = largest_of(exact);
  for (size_t j = 0; j < exact.size(); ++j) {
    const Float128 error = float128::abs(in_f64[j] - exact[j]);
    const Float128 bound = kMargin * (changes[j] + kUnit * float128::abs(exact[j])) +
                           std::numeric_limits<double>::min();
    if (j > 0 && !(static_cast<double>(error) > report.in_f64.error)) continue;
    static_cast<Agreement&>(report.in_f64) = {
        .verdict = error <= bound ? Verdict::kPass : Verdict::kFail,
        .analytic = in_f64[j],
        .numeric = exact[j],
        .error = static_cast<double>(error),
        .tolerance = static_cast<double>(bound),
        .note = error <= bound ? "" : "f64 loses more than rounding explains"};
    report.in_f64.element = static_cast<int64_t>(j);
  }
  if (largest > rounding) {
    const auto share = report.in_f64.error / static_cast<double>(largest);
    report.digits = -std::log10(std::max(share, 0x1p-53));
  }
}

}  // namespace

void check_exactly(const Probe& f, const Recorded& recorded, const FormulaCheck& formula,
                   std::span<InputReport> reports) {
  ExactChecks(f, recorded, formula).check(reports);
}

Agreement check_symmetry(const Probe& f, std::span<const Float128> cotangent, RandomStream stream) {
  const Tensor v = tensor_of(cotangent, f.value_shape(), f.arithmetic().dtype);
  const TensorFunction scalar = [&](std::span<const Tensor> x) { return sum(f.function()(x) * v); };
  std::vector<Tensor> u, w;
  for (const Tensor& x : f.inputs()) {
    const bool floating = is_floating(x.dtype());
    u.push_back(floating ? random_like(x, stream.derive(2 * u.size())) : Tensor());
    w.push_back(floating ? random_like(x, stream.derive(2 * w.size() + 1)) : Tensor());
  }
  const auto product = [&](std::span<const Tensor> left, std::span<const Tensor> right) {
    const std::vector<Tensor> products = hessian_vector_product(scalar, f.inputs(), right);
    Sum sum;
    for (size_t i = 0; i < left.size(); ++i) {
      if (left[i].defined()) sum.add(dot(numbers_of(left[i]), numbers_of(products[i])));
    }
    return sum;
  };
  const Sum left = product(u, w), right = product(w, u);
  const auto difference = [&] {
    return std::vector<Numbers>{{product(u, w).value - product(w, u).value}};
  };
  const auto compared = [&](Float128 change) {
    return compare_exact(left.value, right.value, left.size + right.size,
                         f.arithmetic().roundoff + kMargin * change);
  };
  Agreement result = compared(0);
  if (result.verdict == Verdict::kFail) {
    result = compared(changes_by_rounding(RandomStream(0).derive("symmetry"),
                                          f.arithmetic().roundoff, difference)[0][0]);
  }
  if (result.verdict == Verdict::kFail) result.note = "the Hessian is not symmetric";
  return result;
}

void check_in_f64(const TensorFunction& f, std::span<const Tensor> inputs, const Probe& wide,
                  const FormulaCheck& formula, const RandomStream& stream,
                  std::span<InputReport> reports) {
  // The same cotangent in both: one that f64 holds.
  const std::vector<double> cotangent = doubles_of(formula.cotangent);
  const Numbers rounded(cotangent.begin(), cotangent.end());
  const std::vector<Numbers> exact = Recorded(f, wide.inputs()).gradients(rounded);
  std::vector<Numbers> in_f64;
  {
    const NarrowRun narrow;
    in_f64 = Recorded(f, inputs).gradients(rounded);
  }
  const auto gradients = [&] { return Recorded(f, wide.inputs()).gradients(rounded); };
  const auto compare_input = [&](const std::vector<Numbers>& changes, InputReport& report) {
    const size_t i = report.input;
    report.in_f64 = {};
    if (in_f64[i].size() == exact[i].size()) {
      compare_in_f64(exact[i], in_f64[i], changes[i],
                     formula.sizes.rounding() / largest_of(wide.scales(i)), report);
    }
  };
  const std::vector<Numbers> changes = changes_by_rounding(stream, kUnit, gradients, exact);
  for (InputReport& report : reports) {
    compare_input(changes, report);
    report.verdict = worse(report.verdict, report.in_f64.verdict);
  }
}

}  // namespace qkv
