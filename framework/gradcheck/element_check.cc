#include <algorithm>
#include <optional>
#include <vector>

#include "framework/gradcheck/derivatives.h"
#include "framework/gradcheck/formula_check.h"
#include "framework/gradcheck/slopes.h"

namespace qkv {
namespace {

constexpr int64_t kJacobian = 4096;    // entries of a Jacobian that are checked one by one
constexpr Float128 kEnough = 0x1p-20;  // three steps that miss no more than this share are enough

int rank_of(Verdict verdict) {
  return verdict == Verdict::kFail ? 2 : verdict == Verdict::kUndecided ? 1 : 0;
}

// Elements of one input, each moved by itself.
class ElementCheck {
 public:
  ElementCheck(const Probe& f, const Recorded& recorded, const FormulaCheck& formula, int worst)
      : f_(f),
        recorded_(recorded),
        formula_(formula),
        worst_(std::max(1, worst)),
        missed_(f.arithmetic().missed) {}

  void run(std::span<const int64_t> elements, InputReport& report, NumericGradient& numeric) {
    const size_t outputs = f_.value().size();
    const Numbers& scales = f_.scales(report.input);
    numeric.cotangent_is_right = true;
    largest_effect_ = 0;
    for (size_t j = 0; j < scales.size(); ++j) {
      const Float128 effect = float128::abs(analytic(report.input, j) * scales[j]);
      if (float128::is_finite(effect)) largest_effect_ = std::max(largest_effect_, effect);
    }
    if (!f_.arithmetic().is_f32() && std::ssize(elements) * std::ssize(f_.value()) <= kJacobian) {
      take_rows(report.input);
    }
    if (!rows_.empty()) {
      numeric.right.resize(outputs), numeric.missing.resize(outputs);
      numeric.moves.resize(outputs);
    }
    for (const int64_t e : elements) check(e, report, numeric);
    report.elements = std::ssize(elements);
    for (const ElementReport& entry : report.worst) {
      report.verdict = worse(report.verdict, entry.verdict);  // the worst is among them
    }
  }

 private:
  Float128 analytic(size_t input, size_t element) const {
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
    const Numbers& scales = f_.scales(report.input);
    const Float128 scale = scales[element];
    Direction u(f_.size());
    u[report.input].resize(scales.size());
    u[report.input][element] = scale;
    const auto are_enough = [&](std::span<const Slope> slopes) {
      bool are_resolved = is_resolved(whole(e, report.input, slopes, kEnough));
      for (size_t k = 0; k < rows_.size() && are_resolved; ++k) {
        are_resolved = is_resolved(entry(e, k, report.input, slopes[k], kEnough));
      }
      return are_resolved;
    };
    const std::vector<Slope> slopes = slopes_along(f_, u, are_enough);
    far_.clear();
    int rank = 0;
    for (size_t k = 0; k < rows_.size(); ++k) {
      ElementReport one = entry(e, k, report.input, slopes[k], missed_);
      look_from_afar(u, one);
      numeric.moves[k].push_back(float128::abs(slopes[k].value) > 4 * slopes[k].error ? 1 : 0);
      rank = std::max(rank, check_entry(one, report, numeric));
    }
    ElementReport all = whole(e, report.input, slopes, missed_);
    if (all.verdict == Verdict::kUndecided && f_.arithmetic().is_f32()) {
      all = uncancelled(all, u, report.input, slopes);
    }
    look_from_afar(u, all);
    if (all.is_hidden) ask_forward_mode(report.input, all);
    // If its entries decide, their sum need not.
    const bool entries_tell = !rows_.empty() && all.verdict == Verdict::kUndecided && rank == 0;
    if (entries_tell) all.verdict = Verdict::kPass;
    numeric.cotangent_is_right &= all.verdict == Verdict::kPass;
    rank = std::max(rank, rank_of(all.verdict));
    report.failed += rank == 2;
    report.undecided += rank == 1;
    keep(all, report);
    numeric.elements.push_back(e);
    numeric.analytic.push_back(static_cast<double>(all.analytic));
    numeric.numeric.push_back(static_cast<double>(all.numeric));
    numeric.error.push_back(all.estimated_error);
  }

  // By three steps. In place of a zero they may miss a derivative that smaller rounding shows.
  static bool is_resolved(const ElementReport& entry) {
    const bool is_zero = float128::abs(entry.analytic) <= entry.tolerance;
    return entry.verdict == Verdict::kPass && (!is_zero || entry.numeric == 0);
  }

  // The derivative of the dot product of all outputs with the cotangent.
  ElementReport whole(int64_t e, size_t input, std::span<const Slope> slopes,
                      Float128 missed) const {
    const auto element = static_cast<size_t>(e);
    const Float128 scale = f_.scales(input)[element];
    const auto [all, sum] = weighted(slopes, formula_.cotangent, scale);
    ElementReport report;
    report.element = e;
    Sizes sizes = formula_.sizes;
    sizes.beside = std::max({sum.size * scale, largest_effect_, sizes.beside});
    sizes.noise = noise_of(input, report) * scale;
    static_cast<Agreement&>(report) = compare(analytic(input, element), all, sizes / scale, missed);
    return report;
  }

  static std::pair<Slope, Sum> weighted(std::span<const Slope> slopes, const Numbers& weights,
                                        Float128 scale) {
    Slope all;
    Sum sum;
    for (size_t k = 0; k < slopes.size(); ++k) add(divided(slopes[k], scale), weights[k], all, sum);
    all.value = sum.value;
    return {all, sum};
  }

  // A derivative that rounding hides, by a cotangent without cancellation. An output that never
  // moves has a zero, unless it moves from afar by a slope that rounding could hide here.
  ElementReport uncancelled(ElementReport report, const Direction& u, size_t input,
                            std::span<const Slope> slopes) const {
    const auto element = static_cast<size_t>(report.element);
    std::vector<Slope> still(slopes.begin(), slopes.end());
    Numbers v = formula_.cotangent, far;
    for (size_t k = 0; k < v.size(); ++k) {
      const Slope& slope = slopes[k];
      if (slope.value * v[k] < 0) v[k] = -v[k];
      if (slope.value != 0 || slope.left != 0 || slope.right != 0) continue;
      if (far.empty()) far = slopes_from_afar(f_, u);
      if (far[k] > kMargin * slope.error) still[k] = {};
    }
    const Numbers gradient = recorded_.gradients(v)[input];
    const auto compared = [&](std::span<const Slope> by) {
      return compare(gradient.empty() ? 0 : gradient[element],
                     weighted(by, v, f_.scales(input)[element]).first, {}, missed_);
    };
    static_cast<Agreement&>(report) = compared(slopes);
    const Agreement where_still = compared(still);
    if (where_still.verdict == Verdict::kPass) static_cast<Agreement&>(report) = where_still;
    return report;
  }

  // The derivative of output k.
  ElementReport entry(int64_t e, size_t k, size_t input, const Slope& slope,
                      Float128 missed) const {
    ElementReport report;
    report.element = e;
    report.output = static_cast<int64_t>(k);
    const Float128 scale = f_.scales(input)[static_cast<size_t>(e)];
    Sizes sizes = formula_.sizes;
    sizes.beside = largest_effect_of_row(k, input);
    sizes.values = std::max(float128::abs(f_.value()[k]), f_.noise()[k] / sizes.roundoff);
    // An f whose nearest numbers differ by more than f64 rounds may rise and fall between them.
    const bool is_lost = f_.noise()[k] >= 0x1p-40 * float128::abs(f_.value()[k]);
    if (is_lost && f_.arithmetic().dtype == DType::f64) sizes.coarsest = kMargin;
    sizes.noise = noise_of(input, report) * scale;
    sizes.least /= float128::abs(formula_.cotangent[k]);
    const Float128 derivative = rows_[k].empty() ? 0 : rows_[k][static_cast<size_t>(e)];
    static_cast<Agreement&>(report) =
        compare(derivative, divided(slope, scale), sizes / scale, missed);
    return report;
  }

  int check_entry(ElementReport entry, InputReport& report, NumericGradient& numeric) {
    if (entry.is_hidden) ask_forward_mode(report.input, entry);
    keep(entry, report);
    const auto k = static_cast<size_t>(entry.output);
    const int rank = rank_of(entry.verdict);
    const bool is_zero = entry.analytic == 0;
    numeric.right[k] |= rank == 0 && !is_zero;
    numeric.missing[k] |= rank != 0 && is_zero;
    numeric.only_missing &= rank == 0 || is_zero;
    return rank;
  }

  // A zero in f64, where f may be too large to show a derivative: then it is seen from afar.
  void look_from_afar(const Direction& u, ElementReport& entry) {
    const bool is_zero = entry.verdict == Verdict::kPass && entry.tolerance > 4 * kMinF64 &&
                         float128::abs(entry.analytic) <= entry.tolerance;
    if (!is_zero || f_.arithmetic().dtype != DType::f64) return;
    if (far_.empty()) far_ = slopes_from_afar(f_, u);
    for (size_t k = 0; k < far_.size(); ++k) {
      if (entry.output >= 0 && entry.output != static_cast<int64_t>(k)) continue;
      if (float128::abs(formula_.cotangent[k]) * far_[k] >= kMissed * formula_.sizes.least)
        continue;
      entry.verdict = Verdict::kUndecided;
      entry.note = "rounding may hide a derivative that is not zero";
    }
  }

  // Its rules know nothing of backward: a derivative that both give alike is right, however small.
  void ask_forward_mode(size_t input, ElementReport& entry) {
    if (f_.arithmetic().dtype != DType::f128) return;
    if (entry.element != moved_) take_column(input, entry.element);
    if (column_.empty()) return;
    const Float128 told = entry.output < 0 ? dot(column_, formula_.cotangent).value
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
      column_ = moves.defined() ? numbers_of(moves) : Numbers(f_.value().size());
    } catch (const NoForwardRule&) {  // check_exactly says so
    }
  }

  // The noise of a derivative, as backward rounds it.
  Float128 noise_of(size_t input, const ElementReport& entry) const {
    if (formula_.noise[input].empty()) return 0;
    const Float128 noise = kMargin * formula_.noise[input][static_cast<size_t>(entry.element)];
    if (entry.output < 0) return noise;
    return noise / float128::abs(formula_.cotangent[static_cast<size_t>(entry.output)]);
  }

  // The effect of an element on an output is its derivative times its scale.
  Float128 largest_effect_of_row(size_t k, size_t input) const {
    const Numbers& scales = f_.scales(input);
    Float128 largest = 0;
    for (size_t j = 0; j < rows_[k].size(); ++j) {
      const Float128 effect = float128::abs(rows_[k][j] * scales[j]);
      if (float128::is_finite(effect)) largest = std::max(largest, effect);
    }
    return largest;
  }

  static Slope divided(Slope slope, Float128 scale) {
    for (Float128* each : {&slope.value, &slope.error, &slope.left, &slope.right,
                           &slope.sides_error, &slope.nearby}) {
      *each /= scale;
    }
    return slope;
  }

  // all += weight slope
  static void add(const Slope& slope, Float128 weight, Slope& all, Sum& sum) {
    const Float128 left = weight * slope.left, right = weight * slope.right;
    sum.add(weight * slope.value);
    all.error += float128::abs(weight) * slope.error;
    all.sides_error += float128::abs(weight) * slope.sides_error;
    all.nearby += float128::abs(weight) * slope.nearby;
    all.settles &= slope.settles;
    all.is_rounding &= slope.is_rounding;
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
  Float128 missed_;
  Float128 largest_effect_ = 0;
  std::vector<Numbers> rows_;  // by output; empty: there are too many entries
  std::optional<ForwardMode> forward_mode_;
  Numbers far_;         // the slopes of the element from afar
  int64_t moved_ = -1;  // the element whose
  Numbers column_;      // this is; empty: forward mode has no rule
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
