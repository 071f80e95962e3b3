#include "framework/gradcheck/gradcheck.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/gradcheck/analytic.h"
#include "framework/gradcheck/backward_rows.h"
#include "framework/gradcheck/block_check.h"
#include "framework/gradcheck/diagnosis.h"
#include "framework/gradcheck/direction_check.h"
#include "framework/gradcheck/element_check.h"
#include "framework/gradcheck/exact_checks.h"
#include "framework/gradcheck/position.h"
#include "framework/gradcheck/probe.h"
#include "framework/graph/op.h"

namespace qkv {
namespace {

constexpr int64_t kMaxOutputs = 4096;  // each costs a backward of its own

void check_inputs(std::span<const Tensor> inputs, const GradcheckOptions& options) {
  if (options.order != 1 && options.order != 2) {
    fail(absl::StrCat("gradcheck: order must be 1 or 2, not ", options.order));
  }
  const auto is_size = [](double x) { return std::isfinite(x) && x >= 0.0; };
  const Tolerance& tolerance = options.tolerance;
  if (!is_size(tolerance.relative) || !is_size(tolerance.absolute)) {
    fail(absl::StrCat("gradcheck: a tolerance must be 0 or more, not ", tolerance.relative,
                      " relative and ", tolerance.absolute, " absolute"));
  }
  if (!is_size(options.move_by)) {
    fail(absl::StrCat("gradcheck: move_by must be 0 or more, not ", options.move_by));
  }
  if (!options.names.empty() && options.names.size() != inputs.size()) {
    fail(
        absl::StrCat("gradcheck: ", inputs.size(), " inputs and ", options.names.size(), " names"));
  }
  bool any = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) fail(absl::StrCat("gradcheck: input ", i, " is undefined"));
    if (!is_floating(inputs[i].dtype())) continue;
    any = true;
    if (inputs[i].dtype() == DType::f64) continue;
    fail(
        absl::StrCat("gradcheck: needs f64: input ", i, " is ", inputs[i].describe(),
                     ", which holds too few digits to tell a wrong derivative from a rounded one"));
  }
  if (!any) fail("gradcheck: no input has a gradient: none is f64");
}

// Copies of the inputs, moved at random by `by` at most.
std::vector<Tensor> moved(std::span<const Tensor> inputs, double by, const RandomStream& stream) {
  std::vector<Tensor> result;
  for (const Tensor& x : inputs) {
    Array copy = x.array().copy();
    if (is_floating(x.dtype()) && by != 0.0) {
      RandomStream numbers = stream.derive(result.size());
      double* values = copy.mutable_data<double>();
      for (int64_t i = 0; i < x.size(); ++i) values[i] += by * (2.0 * numbers.uniform() - 1.0);
    }
    result.emplace_back(copy);
  }
  return result;
}

int64_t floating_elements(std::span<const Tensor> inputs) {
  int64_t total = 0;
  for (const Tensor& x : inputs) total += is_floating(x.dtype()) ? x.size() : 0;
  return total;
}

// A unit vector, so that a step along it is the same for an input of any size.
Tensor random_direction(const Tensor& x, const RandomStream& stream) {
  Tensor u = random_like(x, stream);
  Array array = u.array();
  double* values = array.mutable_data<double>();
  const double squares = std::inner_product(values, values + u.size(), values, 0.0);
  for (int64_t i = 0; i < u.size(); ++i) values[i] /= std::sqrt(squares);
  return u;
}

// Once, for all inputs.
void note_missing_rule(const InputReport& input, GradcheckReport& report) {
  if (input.no_forward_rule.empty()) return;
  const std::string note = absl::StrCat("forward mode: no rule for ", input.no_forward_rule);
  if (!std::ranges::count(report.notes, note)) report.notes.push_back(note);
}

// Whether all that does not pass is off by a small share, as where the rounding of x moves
// derivatives.
bool may_be_rounding(const InputReport& report) {
  constexpr double kShare = 0.01;
  const auto passes = [](const Agreement& agreement) {
    return agreement.verdict == Verdict::kPass;
  };
  const auto is_small = [&](const Agreement& agreement) {
    const double largest = std::max(std::abs(agreement.analytic), std::abs(agreement.numeric));
    return passes(agreement) || agreement.error <= kShare * largest;
  };
  return !(passes(report.direction) && std::ranges::all_of(report.worst, passes)) &&
         report.blocks.wrong == 0 && is_small(report.direction) &&
         std::ranges::all_of(report.worst, is_small);
}

// One function at one point.
class Check {
 public:
  // `pieces` of the function's value: see Rows.
  Check(const TensorFunction& f, std::span<const Tensor> inputs, int order,
        std::span<const int64_t> pieces, const GradcheckOptions& options,
        const RandomStream& stream)
      : options_(options),
        order_(order),
        stream_(stream),
        probe_(f, inputs),
        in_blocks_(floating_elements(inputs) > options.max_elements),
        backward_(probe_, !in_blocks_ && takes_each_output(), pieces, stream) {
    if (order == 2) backward_.add_what_recording_changes(pieces);
  }

  const Tensor& cotangent() const { return backward_.cotangent(); }

  // Fills in the verdict on input i, and what belongs to it.
  int64_t check(size_t i, InputReport& report) {
    report.order = order_;
    report.input = i;
    report.shape = probe_.input(i).shape();
    report.output_shape = probe_.value().shape();
    report.full_jacobian = backward_.rows().each_output();
    report.ignored = !backward_.gradients()[i].defined();
    if (report.shape.size() == 0) {
      report.note = "empty: there is nothing to check";
      return 0;
    }
    if (const int64_t output = bad_output(); output >= 0) {
      report_bad_output(output, report);
      return 0;
    }
    const InputReport begun = report;
    NumericGradient numeric;
    int64_t evaluations = measure(i, report, numeric);
    if (may_be_rounding(report)) {
      backward_.take_spread(i, stream_.derive("neighbours"));
      report = begun;
      evaluations += measure(i, report, numeric);
    }
    if (report.ignored && report.passed()) {
      report.note = "the function does not depend on this input: zero gradient";
    }
    // What forward mode alone sees is smaller than the tolerance of differences: there is no
    // pattern to be found in these.
    if (report.verdict == Verdict::kFail && !report.only_forward_mode_fails()) {
      report.diagnosis =
          diagnose({.report = report,
                    .gradient = numeric,
                    .x = probe_.input(i).to_vector(),
                    .y = Tensor(probe_.value()).to_vector(),
                    .dy = cotangent().to_vector(),
                    .contributions = backward_.recorded().contributions(i, cotangent()),
                    .is_linear = backward_.is_linear(i)});
    }
    return evaluations;
  }

 private:
  // By every method; gives the number of evaluations.
  int64_t measure(size_t i, InputReport& report, NumericGradient& numeric) {
    BlockResult blocks;
    const bool in_blocks = in_blocks_ && plan_blocks(report.shape.size()).blocks > 0;
    if (in_blocks) {
      blocks = check_blocks(backward_, i, stream_.derive("blocks").derive(i), options_, report);
    }
    const std::vector<int64_t> elements =
        in_blocks ? chosen_elements(i, std::move(blocks.by_themselves)) : all_elements(i);
    int64_t evaluations = blocks.evaluations;
    evaluations += check_elements(backward_, i, elements, options_, report, numeric);
    evaluations += check_directions(i, report);
    return evaluations;
  }

  // The first output that is not finite, or -1.
  int64_t bad_output() const {
    const Array value = probe_.value();
    const double *y = value.data<double>(), *end = y + value.size();
    const double* bad = std::find_if_not(y, end, [](double v) { return std::isfinite(v); });
    return bad == end ? -1 : bad - y;
  }

  void report_bad_output(int64_t output, InputReport& report) const {
    report.verdict = Verdict::kFail;
    report.note = absl::StrFormat("the function's own value is %g at output %s",
                                  probe_.value().data<double>()[output],
                                  position(report.output_shape, output));
  }

  bool takes_each_output() const {
    const int64_t outputs = probe_.value().size();
    return outputs <= kMaxOutputs &&
           floating_elements(probe_.inputs()) * outputs <= options_.max_jacobian;
  }

  std::vector<int64_t> all_elements(size_t i) const {
    std::vector<int64_t> all(static_cast<size_t>(probe_.input(i).size()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // These, the largest gradients, and a random choice of the others.
  std::vector<int64_t> chosen_elements(size_t i, std::vector<int64_t> chosen) const {
    std::vector<int64_t> all = all_elements(i);
    const auto wanted = static_cast<size_t>(std::max<int64_t>(2, options_.sampled_elements));
    const size_t largest = std::min(wanted / 2, all.size());
    const std::vector<double>& g = backward_.inputs()[i].rows;
    std::ranges::partial_sort(all, all.begin() + static_cast<int64_t>(largest), std::greater(),
                              [&](int64_t e) { return std::abs(g[e]); });
    RandomStream stream = stream_.derive("elements").derive(i);
    for (size_t k = largest; k < std::min(wanted, all.size()); ++k)
      std::swap(all[k], all[k + stream.below(all.size() - k)]);
    all.resize(std::min(wanted, all.size()));
    chosen.insert(chosen.end(), all.begin(), all.end());
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
  }

  std::vector<Tensor> gradients_by_composed_formulas() const {
    const ComposedOnly composed_only;
    return Recorded(probe_.function(), probe_.inputs()).gradients(cotangent());
  }

  int64_t check_directions(size_t i, InputReport& report) {
    if (!forward_) {
      forward_.emplace(backward_.recorded(), cotangent());
      forward_mode_.emplace(probe_.function(), probe_.inputs());
      other_cotangent_ = random_like(cotangent(), stream_.derive("other cotangent"));
      other_gradients_ = backward_.recorded().gradients(other_cotangent_);
      composed_only_ = gradients_by_composed_formulas();
    }
    const Directional at = {.backward = backward_,
                            .forward = *forward_,
                            .composed_only = composed_only_,
                            .other_cotangent = other_cotangent_,
                            .other_gradients = other_gradients_,
                            .forward_mode = *forward_mode_,
                            .neighbours = stream_.derive("neighbours").derive(i)};
    const Tensor u = random_direction(probe_.input(i), stream_.derive("direction").derive(i));
    return check_direction(at, i, u, options_, report);
  }

  const GradcheckOptions& options_;
  int order_;
  RandomStream stream_;
  Probe probe_;
  bool in_blocks_;  // the elements of large inputs
  BackwardRows backward_;
  std::optional<ForwardProducts> forward_;
  std::optional<ForwardMode> forward_mode_;
  Tensor other_cotangent_;
  std::vector<Tensor> other_gradients_, composed_only_;
};

}  // namespace

GradcheckReport gradcheck(const TensorFunction& f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options) {
  check_inputs(inputs, options);
  const auto start = std::chrono::steady_clock::now();
  const RandomStream stream(options.seed);
  GradcheckReport report;
  if (options.move_by != 0.0) {
    report.notes.push_back(
        absl::StrFormat("the inputs were moved at random by up to %g", options.move_by));
  }
  const auto name_of = [&](size_t i) {
    if (i == inputs.size()) return std::string("cotangent");
    return options.names.empty() ? absl::StrCat("input ", i) : options.names[i];
  };
  const auto run = [&](int order, const TensorFunction& function, std::span<const Tensor> at,
                       std::span<const int64_t> pieces) {
    Check check(function, at, order, pieces, options, stream.derive(static_cast<uint64_t>(order)));
    for (size_t i = 0; i < at.size(); ++i) {
      if (!is_floating(at[i].dtype())) continue;
      InputReport input;
      input.name = name_of(i);
      report.evaluations += check.check(i, input);
      report.elements += input.elements;
      report.derivatives += input.derivatives;
      note_missing_rule(input, report);
      report.inputs.push_back(std::move(input));
    }
    return check.cotangent();
  };
  std::vector<Tensor> at = moved(inputs, options.move_by, stream.derive("move"));
  const Tensor cotangent = run(1, f, at, {});
  if (options.order == 2) {
    report.hessian_symmetry =
        check_symmetry(f, at, cotangent, options.tolerance, stream.derive("symmetry"));
    const std::vector<int64_t> pieces = sizes_of_gradients(at);
    at.push_back(cotangent);
    run(2, gradients_of(f), at, pieces);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  report.seconds = elapsed.count();
  return report;
}

}  // namespace qkv
