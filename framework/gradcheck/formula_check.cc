#include "framework/gradcheck/formula_check.h"

#include <algorithm>

#include "framework/gradcheck/probe.h"
#include "framework/gradcheck/slopes.h"

namespace qkv {
namespace {

constexpr int64_t kEachElement = 256;  // of an input, that are all looked at by themselves
constexpr int64_t kSmallest = 4;       // a part of a larger input that is not halved
constexpr int64_t kEnoughWrong = 8;    // wrong elements that are enough of a larger input

// v · (J u) and (Jᵀ v) · u.
struct Sides {
  Sum numeric, analytic;
  Float128 error = 0, sides_error = 0;  // of the numeric side, and of its one-sided slopes
  Float128 rounding = 0;
  Float128 judged = 0;  // the smallest effect that must not be missed
  bool settles = true;

  Float128 size() const { return numeric.size + analytic.size; }
  Float128 difference() const { return float128::abs(numeric.value - analytic.value); }
  Float128 missed() const { return 4 * error + kConstantError * size() + rounding; }
  // Whether an error that matters would show. Not beside a NaN.
  bool are_resolved() const {
    if (!settles || !float128::is_finite(size()) || !float128::is_finite(error)) return false;
    return std::max(missed(), 4 * sides_error / kSideMargin) <= kMissed * judged + 4 * kMinF64;
  }
  bool agree() const { return are_resolved() && difference() <= missed(); }
  bool are_enough() const { return agree() && error <= kConstantError * size(); }
  // By more than any rounding explains.
  bool plainly_differ() const {
    return are_resolved() && error <= kConstantError * size() &&
           difference() > 0x1p-24 * size() + rounding;
  }
};

// The elements first … last - 1 of an input.
struct Part {
  size_t input;
  int64_t first, last;
};

class FormulaChecker {
 public:
  FormulaChecker(Probe& f, const Recorded& recorded, const RandomStream& stream,
                 const GradcheckOptions& options, std::span<InputReport> reports)
      : f_(f), recorded_(recorded), stream_(stream), options_(options), reports_(reports) {}

  FormulaCheck run() {
    if (agrees() && !must_look_closer()) return std::move(result_);
    if (options_.only_verdict && sides_[0].plainly_differ()) {
      result_.report.verdict = Verdict::kFail;
      return std::move(result_);
    }
    if (!options_.only_verdict) {
      f_.measure_noise_closely();
      if (agrees() && !must_look_closer()) return std::move(result_);
    }
    measure_gradient_noise();
    result_.numeric.resize(f_.size());
    for (InputReport& input : reports_) {
      look_closer(input);
      if (options_.only_verdict && input.verdict == Verdict::kFail) break;
    }
    return std::move(result_);
  }

 private:
  // In f64 rounding may hide one derivative beside others: each is judged by itself.
  bool must_look_closer() const {
    return f_.arithmetic().dtype == DType::f64 && !options_.only_verdict;
  }

  // How far rounding moves the gradients.
  void measure_gradient_noise() {
    result_.noise = changes_by_rounding(stream_.derive("gradients"), f_.arithmetic().roundoff, [&] {
      return Recorded(f_.function(), f_.inputs()).gradients(result_.cotangent);
    });
  }

  // Along every direction, and with few outputs.
  bool agrees() {
    result_ = {};
    result_.direction = moved_by_size(f_, stream_.derive("by size"));
    bool is_enough = false;
    const std::vector<Slope> slopes =
        slopes_along(f_, result_.direction, [&](std::span<const Slope> three_steps) {
          take(three_steps);
          is_enough =
              sides_[0].are_enough() || (options_.only_verdict && sides_[0].plainly_differ());
          return is_enough;
        });
    if (!is_enough) take(slopes);
    report();
    if (options_.only_verdict && sides_[0].plainly_differ()) return false;
    for (const Direction& u :
         {by_effect(), moved_if_small(f_, result_.gradients, stream_.derive("small ones"))}) {
      if (!u.empty()) sides_.push_back(sides_along(u));
    }
    if (slopes.size() > 1) sides_.push_back(with_few_outputs(slopes));
    report();
    return std::ranges::all_of(sides_, &Sides::agree);
  }

  // The slopes along the first direction, and the cotangent that they ask for.
  void take(std::span<const Slope> slopes) {
    result_.products.clear();
    for (const Slope& slope : slopes) result_.products.push_back(slope.value);
    result_.cotangent = cotangent_for(slopes);
    result_.gradients = recorded_.gradients(result_.cotangent);
    result_.sizes = {.values = dot(result_.cotangent, f_.value()).size,
                     .roundoff = f_.arithmetic().roundoff,
                     .coarsest = f_.arithmetic().coarsest};
    for (size_t i = 0; i < f_.size(); ++i) {
      result_.sizes.beside += dot(result_.gradients[i], result_.direction[i]).size;
    }
    result_.sizes.least =
        least_effect(result_.direction, result_.gradients, result_.sizes.rounding());
    sides_ = {sides_of(slopes, result_.direction)};
    sides_[0].judged = sides_[0].size();
  }

  Direction by_effect() const {
    return moved_by_effect(f_, result_.gradients, result_.sizes.rounding(),
                           stream_.derive("by effect"));
  }

  Sides sides_along(const Direction& u) const {
    const std::vector<Slope> slopes = slopes_along(f_, u, [&](std::span<const Slope> three_steps) {
      return sides_of(three_steps, u).are_enough();
    });
    return sides_of(slopes, u);
  }

  Numbers cotangent_for(std::span<const Slope> slopes) const {
    RandomStream stream = stream_.derive("cotangent");
    Float128 largest = 0;
    for (const Slope& slope : slopes) {
      if (float128::is_finite(slope.value)) largest = std::max(largest, float128::abs(slope.value));
    }
    if (largest == 0) largest = 1;
    const Float128 least = largest * 0x1p-900;
    Numbers v;
    for (const Slope& slope : slopes) {
      // One that stands still counts as the one that moves most.
      const bool moves = float128::abs(slope.value) > 4 * slope.error;
      v.push_back(random_factor(stream) /
                  (moves ? std::max(float128::abs(slope.value), least) : largest));
    }
    const Float128 largest_weight = largest_of(v);
    for (Float128& weight : v) weight /= largest_weight;
    return v;
  }

  Sides sides_of(std::span<const Slope> slopes, const Direction& u) const {
    return sides_of(slopes, u, result_.cotangent, result_.gradients);
  }

  Sides sides_of(std::span<const Slope> slopes, const Direction& u, const Numbers& cotangent,
                 std::span<const Numbers> gradients) const {
    Sides sides;
    for (size_t k = 0; k < slopes.size(); ++k) {
      sides.numeric.add(cotangent[k] * slopes[k].value);
      sides.error += float128::abs(cotangent[k]) * slopes[k].error;
      sides.sides_error += float128::abs(cotangent[k]) * slopes[k].sides_error;
      sides.settles &= slopes[k].settles && !slopes[k].has_kink;
    }
    for (size_t i = 0; i < u.size(); ++i) sides.analytic.add(dot(gradients[i], u[i]));
    sides.rounding = result_.sizes.rounding();
    sides.judged = result_.sizes.least;
    return sides;
  }

  // With a cotangent that is zero for half of the outputs: a backward must be linear in it.
  Sides with_few_outputs(std::span<const Slope> slopes) const {
    RandomStream stream = stream_.derive("few outputs");
    Numbers few = result_.cotangent;
    for (Float128& weight : few) weight *= stream.uniform() < 0.5 ? 0 : 1;
    few[0] = 0;
    Sides sides = sides_of(slopes, result_.direction, few, recorded_.gradients(few));
    sides.judged = sides_[0].size();
    return sides;
  }

  void report() {
    FormulaReport& report = result_.report;
    report = {};
    for (const InputReport& input : reports_) report.inputs += input.shape.size();
    report.outputs = std::ssize(f_.value());
    report.resolved_to = kInfinityOf<double>;
    for (const Sides& sides : sides_) {  // the one with the best resolution
      // All are zero.
      if (sides.analytic.size <= sides.rounding && sides.difference() <= sides.missed()) continue;
      const auto resolved_to = static_cast<double>(sides.error / sides.size());
      if (!(resolved_to < report.resolved_to) && sides.agree()) continue;
      report.resolved_to = resolved_to;
      report.disagreement = static_cast<double>(sides.difference() / sides.size());
      if (!sides.agree()) return;
    }
    if (report.resolved_to == kInfinityOf<double>) report.resolved_to = 0;  // no derivative
  }

  // All elements of a small input; of a large one those that are wrong, if there are any.
  void look_closer(InputReport& input) {
    const int64_t size = input.shape.size();
    const bool is_small =
        size <= (options_.only_verdict ? kSmallest : kEachElement) || f_.arithmetic().is_f32();
    const std::vector<int64_t> elements = is_small ? all(size) : wrong_ones({input.input, 0, size});
    result_.numeric[input.input] =
        check_elements(f_, recorded_, result_, elements, options_.worst, input);
    if (!is_small && input.passed() && !elements.empty()) {
      input.verdict = Verdict::kUndecided;
      input.note = "the two sides differ, and no element by itself is wrong";
    }
  }

  static std::vector<int64_t> all(int64_t size) {
    std::vector<int64_t> elements;
    for (int64_t e = 0; e < size; ++e) elements.push_back(e);
    return elements;
  }

  // By halving the part that does not agree.
  std::vector<int64_t> wrong_ones(const Part& whole) const {
    const Direction u = by_effect();
    std::vector<int64_t> found;
    std::vector<Part> parts = {whole};
    const int64_t enough = options_.only_verdict ? 1 : kEnoughWrong;
    while (!parts.empty() && std::ssize(found) < enough) {
      const Part part = parts.back();
      parts.pop_back();
      const Direction moves = part_of(u, part.input, part.first, part.last);
      if (sides_along(moves).agree()) continue;
      if (part.last - part.first <= kSmallest) {
        for (int64_t e = part.first; e < part.last; ++e) found.push_back(e);
        continue;
      }
      const int64_t middle = (part.first + part.last) / 2;
      parts.push_back({part.input, middle, part.last});
      parts.push_back({part.input, part.first, middle});
    }
    return found;
  }

  Probe& f_;
  const Recorded& recorded_;
  RandomStream stream_;
  const GradcheckOptions& options_;
  std::span<InputReport> reports_;
  FormulaCheck result_;
  std::vector<Sides> sides_;  // of each direction
};

}  // namespace

FormulaCheck check_formula(Probe& f, const Recorded& recorded, const RandomStream& stream,
                           const GradcheckOptions& options, std::span<InputReport> reports) {
  FormulaCheck result = FormulaChecker(f, recorded, stream, options, reports).run();
  for (const InputReport& input : reports) {
    result.report.verdict = worse(result.report.verdict, input.verdict);
  }
  return result;
}

}  // namespace qkv
