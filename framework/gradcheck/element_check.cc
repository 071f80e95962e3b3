#include "framework/gradcheck/element_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/core/storage.h"
#include "framework/kernels/parallel.h"

namespace qkv {
namespace {

struct Ranked {
  int rank;  // of the verdict
  double
      badness;  // error / tolerance; of failures the error, as a common factor gives all one ratio
  ElementReport report;
};

bool before(const Ranked& a, const Ranked& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.badness > b.badness;
}

int rank_of(Verdict verdict) {
  return verdict == Verdict::kFail ? 2 : verdict == Verdict::kUndecided ? 1 : 0;
}

// What some elements came to. Tallies of pieces are joined in order.
class Tally {
 public:
  Tally(const Rows& rows, const GradcheckOptions& options)
      : options_(options), each_output_(rows.each_output()), rows_(rows.size()) {
    if (each_output_) right_.resize(rows_ - 1), wrong_ = missing_ = right_;
  }

  void add(int64_t element, std::span<const double> analytic, std::span<const double> beside,
           std::span<const Slope> slopes) {
    bool stepped_around = false, smaller_steps = false;
    for (size_t row = 0; row < rows_; ++row) {
      add(element, row, analytic[row], beside[row], slopes[row]);
      stepped_around |= slopes[row].kind == Slope::Kind::kKinkAside;
      smaller_steps |= slopes[row].kind == Slope::Kind::kSmallerSteps;
    }
    kinks_ += stepped_around;
    smaller_steps_ += smaller_steps && !stepped_around;
  }

  void join(const Tally& later) {
    failed_ += later.failed_;
    undecided_ += later.undecided_;
    zeros_ += later.zeros_;
    kinks_ += later.kinks_;
    smaller_steps_ += later.smaller_steps_;
    only_missing_ &= later.only_missing_;
    cotangent_is_right_ &= later.cotangent_is_right_;
    for (size_t k = 0; k < right_.size(); ++k) {
      right_[k] |= later.right_[k];
      wrong_[k] |= later.wrong_[k];
      missing_[k] |= later.missing_[k];
    }
    for (const Ranked& entry : later.worst_) keep(entry);
  }

  void fill(InputReport& report, NumericGradient& numeric) const {
    report.failed = failed_;
    report.undecided = undecided_;
    report.structural_zeros = zeros_;
    report.kinks_stepped_around = kinks_;
    report.smaller_steps = smaller_steps_;
    for (const Ranked& entry : worst_) report.worst.push_back(entry.report);
    numeric.right = right_;
    numeric.wrong = wrong_;
    numeric.missing = missing_;
    numeric.only_missing = only_missing_;
    numeric.cotangent_is_right = cotangent_is_right_;
  }

 private:
  void add(int64_t element, size_t row, double analytic, double beside, const Slope& slope) {
    const Tolerance& t = options_.tolerance;
    const double error = std::abs(analytic - slope.value);
    const double largest = std::max(std::abs(analytic), std::abs(slope.value));
    const double zero_tolerance = t.absolute * beside;
    const double tolerance = zero_tolerance + t.relative * largest + slope.error;
    const bool zero_analytic = std::abs(analytic) <= zero_tolerance + slope.error;
    int rank = 0;
    double badness = error / tolerance;
    if (!std::isfinite(error) || error > tolerance || slope.kind > Slope::Kind::kKinkAside) {
      const Verdict verdict = compare(analytic, slope, t, beside).verdict;
      rank = rank_of(verdict);
      failed_ += verdict == Verdict::kFail;
      undecided_ += verdict == Verdict::kUndecided;
      if (verdict == Verdict::kFail) badness = error;
      if (!std::isfinite(badness)) badness = std::numeric_limits<double>::infinity();
    } else if (zero_analytic && std::abs(slope.value) <= zero_tolerance + slope.error) {
      ++zeros_;
    }
    if (row + 1 == rows_) cotangent_is_right_ &= rank == 0;
    note_pattern(row, rank, zero_analytic);
    const auto limit = static_cast<size_t>(std::max(1, options_.worst));
    if (worst_.size() < limit || rank > worst_.back().rank ||
        (rank == worst_.back().rank && badness > worst_.back().badness)) {
      ElementReport report;
      static_cast<Agreement&>(report) = compare(analytic, slope, t, beside);
      report.element = element;
      report.output = each_output_ && row + 1 < rows_ ? static_cast<int64_t>(row) : -1;
      keep({rank, badness, report});
    }
  }

  void note_pattern(size_t row, int rank, bool zero_analytic) {
    if (!each_output_ || row + 1 == rows_) return;
    right_[row] |= rank == 0 && !zero_analytic;
    wrong_[row] |= rank != 0;
    missing_[row] |= rank != 0 && zero_analytic;
    only_missing_ &= rank == 0 || zero_analytic;
  }

  void keep(const Ranked& entry) {
    worst_.insert(std::ranges::upper_bound(worst_, entry, before), entry);
    if (worst_.size() > static_cast<size_t>(std::max(1, options_.worst))) worst_.pop_back();
  }

  const GradcheckOptions& options_;
  bool each_output_;
  size_t rows_;
  int64_t failed_ = 0, undecided_ = 0, zeros_ = 0, kinks_ = 0, smaller_steps_ = 0;
  std::vector<Ranked> worst_;  // the worst first
  std::vector<char> right_, wrong_, missing_;
  bool only_missing_ = true, cotangent_is_right_ = true;
};

// The largest derivative of the same output by another element, as large as it were by this one:
// what an element does to an output is its derivative times its scale.
void fill_beside(const std::vector<double>& largest_effect, double scale,
                 std::vector<double>& beside) {
  for (size_t row = 0; row < beside.size(); ++row) beside[row] = largest_effect[row] / scale;
}

}  // namespace

int64_t check_elements(const BackwardRows& backward, size_t input,
                       std::span<const int64_t> elements, const GradcheckOptions& options,
                       InputReport& report, NumericGradient& numeric) {
  const Probe& probe = backward.probe();
  const Rows& rows = backward.rows();
  const InputGradient& gradient = backward.inputs()[input];
  const auto count = static_cast<int64_t>(elements.size());
  numeric.elements.assign(elements.begin(), elements.end());
  numeric.analytic.resize(elements.size());
  numeric.numeric.resize(elements.size());
  numeric.error.resize(elements.size());

  std::vector<Tally> tallies(kernels::num_pieces(count, 1), Tally(rows, options));
  std::vector<int64_t> evaluations(tallies.size());
  const auto check_piece = [&](int64_t piece, int64_t begin, int64_t end) {
    const ThreadMemory memory;
    ProbeLine line(probe, input);
    Differences differences(rows, probe.value(), backward.rounding(), options.tolerance);
    std::vector<Slope> slopes(rows.size());
    std::vector<double> beside(rows.size());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t element = elements[i];
      const std::span<const double> analytic = gradient.of(element);
      fill_beside(gradient.largest_effect, line.scale_of(element), beside);
      differences.slopes(
          [&](double& t) { return line.along_element(element, t); },
          {.scale = line.scale_of(element), .x = line.x_of(element)},
          {.derivatives = analytic, .beside = beside, .spread = gradient.spread_of(element)},
          slopes);
      tallies[piece].add(element, analytic, beside, slopes);
      numeric.analytic[i] = analytic.back();
      numeric.numeric[i] = slopes.back().value;
      numeric.error[i] = slopes.back().error;
    }
    evaluations[piece] = differences.evaluations();
  };
  if (options.concurrent) {
    kernels::parallel_pieces(count, 1, check_piece);
  } else {
    const auto pieces = static_cast<int64_t>(tallies.size());
    for (int64_t p = 0; p < pieces; ++p) {
      check_piece(p, count * p / pieces, count * (p + 1) / pieces);
    }
  }

  report.elements = count;
  report.derivatives = count * static_cast<int64_t>(rows.size());
  int64_t total = 0;
  for (size_t p = 0; p < tallies.size(); ++p) {
    if (p > 0) tallies[0].join(tallies[p]);
    total += evaluations[p];
  }
  if (!tallies.empty()) tallies[0].fill(report, numeric);
  for (const ElementReport& entry : report.worst) {
    report.verdict = worse(report.verdict, entry.verdict);  // the worst is among them
  }
  return total;
}

}  // namespace qkv
