#include "framework/gradcheck/f64_digits.h"

#include <algorithm>
#include <cmath>

#include "framework/gradcheck/roundings.h"

namespace qkv {
namespace {

constexpr Scalar kUnit = 0x1p-53;

void compare_in_f64(const Numbers& exact, const Numbers& in_f64, const Numbers& changes,
                    Scalar rounding, InputReport& report) {
  const Scalar largest = largest_of(exact);
  for (size_t j = 0; j < exact.size(); ++j) {
    const Scalar error = float128::abs(in_f64[j] - exact[j]);
    const Scalar bound = kOfChance * (changes[j] + kUnit * float128::abs(exact[j])) +
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
