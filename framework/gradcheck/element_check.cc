#include "framework/gradcheck/element_check.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "framework/gradcheck/compare.h"
#include "framework/gradcheck/forward_mode.h"
#include "framework/gradcheck/slopes.h"

namespace qkv {
namespace {

constexpr int64_t kJacobian = 4096;  // entries of a Jacobian that are told one by one

int rank_of(Verdict verdict) {
  return verdict == Verdict::kFail ? 2 : verdict == Verdict::kUndecided ? 1 : 0;
}

// Elements of one input, each moved by itself.
class ElementCheck {
 public:
  ElementCheck(const Probe& f, const Recorded& recorded, const FormulaCheck& formula, int worst)
      : f_(f), recorded_(recorded), formula_(formula), worst_(std::max(1, worst)) {}

  void run(std::span<const int64_t> elements, InputReport& report, NumericGradient& numeric) {
    const size_t outputs = f_.value().size();
    const Numbers& scales = f_.scales(report.input);
    numeric.cotangent_is_right = true;
    largest_effect_ = 0;
    for (size_t j = 0; j < scales.size(); ++j) {
      const Scalar effect = float128::abs(analytic(report.input, j) * scales[j]);
      if (float128::is_finite(effect)) largest_effect_ = std::max(largest_effect_, effect);
    }
    if (std::ssize(elements) * std::ssize(f_.value()) <= kJacobian) take_rows(report.input);
    if (!rows_.empty()) {
      numeric.right.resize(outputs), numeric.wrong.resize(outputs), numeric.missing.resize(outputs);
    }
    for (const int64_t e : elements) check(e, report, numeric);
    report.elements = std::ssize(elements);
    for (const ElementReport& entry : report.worst) {
      report.verdict = worse(report.verdict, entry.verdict);  // the worst is among them
    }
  }

 private:
  Scalar analytic(size_t input, size_t element) const {
    const Numbers& gradient = formula_.gradients[input];
    return gradient.empty() ? 0 : gradient[element];
  }

  // The Jacobian, each output by a backward of its own.
  void take_rows(size_t input) {
    Numbers cotangent(f_.value().size());
    for (size_t k = 0; k < cotangent.size(); ++k) {
      cotangent[k] = 1;
      rows_.push_back(recorded_.gradients(cotangent)[input]);
      cotangent[k] = 0;
    }
  }

  void check(int64_t e, InputReport& report, NumericGradient& numeric) {
    const auto element = static_cast<size_t>(e);
    const Scalar scale = f_.scales(report.input)[element];
    Direction u(f_.size());
    u[report.input].resize(f_.scales(report.input).size());
    u[report.input][element] = scale;
    Slope all;
    Sum sum;
    int rank = 0;
    const std::vector<Slope> slopes = slopes_along(f_, u, Effort::kThorough);
    for (size_t k = 0; k < slopes.size(); ++k) {
      const Slope slope = divided(slopes[k], scale);
      add(slope, formula_.cotangent[k], all, sum);
      if (!rows_.empty()) rank = std::max(rank, check_entry(e, k, slope, report, numeric));
    }
    all.value = sum.value;
    const Scalar gradient = analytic(report.input, element);
    ElementReport entry;
    entry.element = e;
    static_cast<Agreement&>(entry) = compare(
        gradient, all,
        sizes(std::max(sum.size * scale, largest_effect_), noise_of(report.input, entry) * scale) /
            scale);
    if (entry.is_hidden) ask_forward_mode(report.input, entry);
    // What its entries tell, their sum need not.
    const bool is_told = !rows_.empty() && entry.verdict == Verdict::kUndecided && rank == 0;
    if (is_told) entry.verdict = Verdict::kPass;
    numeric.cotangent_is_right &= entry.verdict == Verdict::kPass;
    rank = std::max(rank, rank_of(entry.verdict));
    report.failed += rank == 2;
    report.undecided += rank == 1;
    keep(entry, report);
    numeric.elements.push_back(e);
    numeric.analytic.push_back(static_cast<double>(gradient));
    numeric.numeric.push_back(static_cast<double>(all.value));
    numeric.error.push_back(static_cast<double>(all.error));
  }

  // The derivative of output k.
  int check_entry(int64_t e, size_t k, const Slope& slope, InputReport& report,
                  NumericGradient& numeric) {
    const Numbers& row = rows_[k];
    const Scalar entry_value = row.empty() ? 0 : row[static_cast<size_t>(e)];
    ElementReport entry;
    const Scalar scale = f_.scales(report.input)[static_cast<size_t>(e)];
    entry.element = e;
    entry.output = static_cast<int64_t>(k);
    const Scalar roundoff = formula_.sizes.roundoff;
    const Scalar terms = std::max(float128::abs(f_.value()[k]), f_.noise()[k] / roundoff);
    const Sizes of_row = {largest_effect_of_row(k, report.input), terms, roundoff,
                          noise_of(report.input, entry) * scale};
    static_cast<Agreement&>(entry) = compare(entry_value, slope, of_row / scale);
    if (entry.is_hidden) ask_forward_mode(report.input, entry);
    keep(entry, report);
    const int rank = rank_of(entry.verdict);
    const bool is_zero = entry_value == 0;
    numeric.right[k] |= rank == 0 && !is_zero;
    numeric.wrong[k] |= rank != 0;
    numeric.missing[k] |= rank != 0 && is_zero;
    numeric.only_missing &= rank == 0 || is_zero;
    return rank;
  }

  // Its rules know nothing of backward: a derivative that both give alike is right, however small.
  void ask_forward_mode(size_t input, ElementReport& entry) {
    if (f_.arithmetic().dtype != DType::f128) return;
    if (entry.element != moved_) take_column(input, entry.element);
    if (column_.empty()) return;
    const Scalar told = entry.output < 0 ? dot(column_, formula_.cotangent).value
                                         : column_[static_cast<size_t>(entry.output)];
    if (!tell_the_same(entry.analytic, told, noise_of(input, entry))) return;
    entry.verdict = Verdict::kPass;
    entry.note = "rounding hides it from differences; forward mode gives the same";
  }

  // The derivatives of all outputs by one element.
  void take_column(size_t input, int64_t element) {
    moved_ = element;
    column_.clear();
    if (!forward_mode_) forward_mode_.emplace(f_.function(), f_.inputs());
    Numbers u(f_.scales(input).size());
    u[static_cast<size_t>(element)] = 1;
    std::vector<Tensor> tangents(f_.size());
    tangents[input] = tensor_of(u, f_.inputs()[input].shape(), DType::f128);
    try {
      const Tensor moves = forward_mode_->derivative(tangents);
      if (moves.defined()) column_ = numbers_of(moves);
    } catch (const NoForwardRule&) {  // check_exactly says so
    }
  }

  Sizes sizes(Scalar beside, Scalar noise) const {
    return {std::max(beside, formula_.sizes.beside), formula_.sizes.values, formula_.sizes.roundoff,
            noise};
  }

  // Of a derivative, as backward rounds it.
  Scalar noise_of(size_t input, const ElementReport& entry) const {
    if (formula_.noise[input].empty()) return 0;
    const Scalar noise = kOfChance * formula_.noise[input][static_cast<size_t>(entry.element)];
    if (entry.output < 0) return noise;
    return noise / float128::abs(formula_.cotangent[static_cast<size_t>(entry.output)]);
  }

  // What an element does to an output is its derivative times its scale.
  Scalar largest_effect_of_row(size_t k, size_t input) const {
    const Numbers& scales = f_.scales(input);
    Scalar largest = 0;
    for (size_t j = 0; j < rows_[k].size(); ++j) {
      const Scalar effect = float128::abs(rows_[k][j] * scales[j]);
      if (float128::is_finite(effect)) largest = std::max(largest, effect);
    }
    return largest;
  }

  static Slope divided(Slope slope, Scalar scale) {
    slope.value /= scale, slope.error /= scale, slope.left /= scale, slope.right /= scale;
    return slope;
  }

  // all += weight slope
  static void add(const Slope& slope, Scalar weight, Slope& all, Sum& sum) {
    const Scalar left = weight * slope.left, right = weight * slope.right;
    sum.add(weight * slope.value);
    all.error += float128::abs(weight) * slope.error;
    all.left += slope.has_kink ? std::min(left, right) : weight * slope.value;
    all.right += slope.has_kink ? std::max(left, right) : weight * slope.value;
    all.has_kink |= slope.has_kink;
  }

  void keep(const ElementReport& entry, InputReport& report) const {
    const auto before = [](const ElementReport& a, const ElementReport& b) {
      const int rank_a = rank_of(a.verdict), rank_b = rank_of(b.verdict);
      if (rank_a != rank_b) return rank_a > rank_b;
      return rank_a == 0 ? a.error * b.tolerance > b.error * a.tolerance : a.error > b.error;
    };
    report.worst.insert(std::ranges::upper_bound(report.worst, entry, before), entry);
    if (std::ssize(report.worst) > worst_) report.worst.pop_back();
  }

  const Probe& f_;
  const Recorded& recorded_;
  const FormulaCheck& formula_;
  int worst_;
  Scalar largest_effect_ = 0;
  std::vector<Numbers> rows_;  // by output; empty: there are too many entries
  std::optional<ForwardMode> forward_mode_;
  int64_t moved_ = -1;  // the element whose
  Numbers column_;      // this is; empty: forward mode has no rule, or the function stands still
};

}  // namespace

NumericGradient check_elements(const Probe& f, const Recorded& recorded,
                               const FormulaCheck& formula, std::span<const int64_t> elements,
                               int worst, InputReport& report) {
  NumericGradient numeric;
  ElementCheck(f, recorded, formula, worst).run(elements, report, numeric);
  return numeric;
}

}  // namespace qkv
