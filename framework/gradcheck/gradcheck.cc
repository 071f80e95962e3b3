#include "framework/gradcheck/gradcheck.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/core/shape.h"
#include "framework/gradcheck/derivatives.h"
#include "framework/gradcheck/exact_checks.h"
#include "framework/gradcheck/formula_check.h"
#include "framework/gradcheck/probe.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

void check_inputs(std::span<const Tensor> inputs, const GradcheckOptions& options) {
  if (options.order != 1 && options.order != 2) {
    fail(absl::StrCat("gradcheck: order must be 1 or 2, not ", options.order));
  }
  if (!(std::isfinite(options.move_by) && options.move_by >= 0.0)) {
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
    if (inputs[i].dtype() != DType::bf16) continue;
    fail(
        absl::StrCat("gradcheck: needs f64 or f32: input ", i, " is ", inputs[i].describe(),
                     ", which holds too few digits to tell a wrong derivative from a rounded one"));
  }
  if (!any) fail("gradcheck: no input is f64 or f32, so there is nothing to check");
}

// Copies of the inputs, moved at random by `by` at most.
std::vector<Tensor> moved(std::span<const Tensor> inputs, double by, const RandomStream& stream) {
  std::vector<Tensor> result;
  for (const Tensor& x : inputs) {
    result.emplace_back(x.array().copy());
    if (!is_floating(x.dtype()) || by == 0.0) continue;
    RandomStream random = stream.derive(result.size() - 1);
    Numbers numbers = numbers_of(x);
    for (Float128& each : numbers) each += by * (2.0 * random.uniform() - 1.0);
    result.back() = tensor_of(numbers, x.shape(), x.dtype());
  }
  return result;
}

Tensor value_of(const TensorFunction& f, std::span<const Tensor> inputs) {
  const NoGrad no_grad;
  Tensor y = f(inputs);
  if (!y.defined()) fail("gradcheck: the function gives an undefined tensor");
  return y;
}

bool is_f32(const Tensor& x) { return x.dtype() == DType::f32; }

void check_same(const Tensor& once, const Tensor& again) {
  if (once.shape() == again.shape() && once.dtype() == again.dtype() &&
      std::memcmp(once.array().raw(), again.array().raw(), once.array().bytes()) == 0) {
    return;
  }
  fail("gradcheck: the function gives different numbers each time it is called");
}

// The first output that is not finite, or -1.
int64_t bad_output(const Numbers& y) {
  const auto bad = std::ranges::find_if_not(y, float128::is_finite);
  return bad == y.end() ? -1 : bad - y.begin();
}

std::string name_of(size_t input, size_t count, const GradcheckOptions& options) {
  if (input == count) return "cotangent";
  return options.names.empty() ? absl::StrCat("input ", input) : options.names[input];
}

// One function at one point, in one arithmetic.
class Check {
 public:
  Check(const TensorFunction& f, std::span<const Tensor> inputs, const Arithmetic& arithmetic,
        const GradcheckOptions& options)
      : f_(f), inputs_(inputs), arithmetic_(arithmetic), options_(options), stream_(options.seed) {}

  GradcheckReport run() {
    const std::vector<Tensor> at = check(1, f_, inputs_);
    if (options_.order == 2 && !at.empty()) check(2, gradients_of(f_), at);
    return std::move(report_);
  }

 private:
  // The inputs of the next order; none where there is nothing to check.
  std::vector<Tensor> check(int order, const TensorFunction& f, std::span<const Tensor> inputs) {
    try {
      return compare(order, f, inputs);
    } catch (const BackwardError& error) {
      // The first order may have been compared; then it was on the way to the second.
      std::vector<InputReport> reports = reports_of(report_.inputs.empty() ? 1 : 2, inputs);
      for (InputReport& report : reports) {
        report.verdict = Verdict::kFail;
        report.note = error.what();
      }
      report_.backward_error = error.what();
      take(std::move(reports));
      return {};
    }
  }

  std::vector<Tensor> compare(int order, const TensorFunction& f, std::span<const Tensor> inputs) {
    const RandomStream stream = stream_.derive(static_cast<uint64_t>(order));
    Probe probe(f, inputs, arithmetic_, stream);
    std::vector<InputReport> reports = reports_of(order, probe.inputs());
    for (InputReport& report : reports) {
      report.output_shape = probe.value_shape();
      report.derivatives = report.shape.size() * std::ssize(probe.value());
      if (report.shape.size() == 0) report.note = "empty: there is nothing to check";
    }
    if (const int64_t bad = bad_output(probe.value()); bad >= 0) {
      for (InputReport& report : reports) {
        report.verdict = Verdict::kFail;
        report.note = absl::StrCat("the function's own value is ",
                                   digits_of(probe.value()[static_cast<size_t>(bad)]),
                                   " at output ", position(probe.value_shape(), bad));
      }
      take(std::move(reports));
      return {};
    }
    const Recorded recorded(f, probe.inputs());
    options_.tell(absl::StrCat("order ", order, ": differences along random directions"));
    const FormulaCheck formula = check_formula(probe, recorded, stream, options_, reports);
    const bool stops = options_.only_verdict && formula.report.verdict != Verdict::kPass;
    options_.tell(absl::StrCat("order ", order, ": identities that hold exactly"));
    if (!stops) check_exactly(probe, recorded, formula, reports);
    const bool is_right = std::ranges::all_of(reports, &InputReport::passed);
    if (order == 1 && is_right && arithmetic_.dtype == DType::f128) {
      options_.tell("how many digits f64 keeps");
      check_in_f64(f, inputs, probe, formula, stream.derive("roundings"), reports);
    }
    for (InputReport& report : reports) {
      if (!stops) diagnose_input(probe, recorded, formula, report);
    }
    report_.formulas.push_back(formula.report);
    report_.formulas.back().order = order;
    report_.evaluations += probe.evaluations();
    take(std::move(reports));
    if (stops || options_.order == 1 || order == 2) return {};
    options_.tell("symmetry of second derivatives");
    report_.hessian_symmetry = check_symmetry(probe, formula.cotangent, stream_.derive("symmetry"));
    std::vector<Tensor> next(inputs.begin(), inputs.end());
    const NarrowRun narrow;
    next.push_back(tensor_of(formula.cotangent, probe.value_shape(), DType::f64));
    return next;
  }

  std::vector<InputReport> reports_of(int order, std::span<const Tensor> inputs) const {
    std::vector<InputReport> reports;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& x = inputs[i];
      if (!is_floating(x.dtype())) continue;
      InputReport report;
      report.order = order;
      report.name = name_of(i, inputs_.size(), options_);
      report.input = i;
      if (i < inputs_.size()) report.dtype = inputs_[i].dtype();
      report.shape = x.shape();
      reports.push_back(std::move(report));
    }
    return reports;
  }

  void diagnose_input(const Probe& probe, const Recorded& recorded, const FormulaCheck& formula,
                      InputReport& report) const {
    const size_t i = report.input;
    report.ignored = formula.gradients[i].empty();
    if (report.ignored && report.passed() && report.shape.size() > 0) {
      report.note = "the function does not depend on this input: zero gradient";
    }
    if (report.verdict != Verdict::kFail || report.elements == 0 || !options_.diagnose) return;
    const Tensor cotangent = tensor_of(formula.cotangent, probe.value_shape(), arithmetic_.dtype);
    NamedNumbers others;
    for (size_t k = 0; k < probe.size(); ++k) {
      if (k != i)
        others.emplace_back(name_of(k, inputs_.size(), options_), doubles_of(probe.numbers(k)));
    }
    std::ranges::move(recorded.saved(), std::back_inserter(others));
    report.diagnosis = options_.diagnose({.report = report,
                                          .gradient = formula.numeric[i],
                                          .x = doubles_of(probe.numbers(i)),
                                          .y = doubles_of(probe.value()),
                                          .dy = doubles_of(formula.cotangent),
                                          .others = std::move(others),
                                          .contributions = recorded.contributions(i, cotangent),
                                          .is_linear = is_linear(recorded, formula, i)});
  }

  // Whether Jᵀv is the sum of Jᵀ of the parts of v.
  static bool is_linear(const Recorded& recorded, const FormulaCheck& formula, size_t input) {
    Numbers first = formula.cotangent, rest = formula.cotangent;
    for (size_t k = 0; k < first.size(); ++k) (k < (first.size() + 1) / 2 ? rest : first)[k] = 0;
    if (first.size() == 1) first[0] *= 2, rest[0] = -formula.cotangent[0];
    const Numbers whole = formula.gradients[input], a = recorded.gradients(first)[input],
                  b = recorded.gradients(rest)[input];
    if (a.size() != whole.size() || b.size() != whole.size()) return true;  // there is none
    for (size_t j = 0; j < whole.size(); ++j) {
      const Float128 size = float128::abs(a[j]) + float128::abs(b[j]);
      if (float128::abs(a[j] + b[j] - whole[j]) > kConstantError * size) return false;
    }
    return true;
  }

  void take(std::vector<InputReport> reports) {
    for (InputReport& report : reports) {
      report_.derivatives += report.derivatives;
      if (!report.no_forward_rule.empty()) {
        const std::string note = absl::StrCat("forward mode: no rule for ", report.no_forward_rule);
        if (!std::ranges::count(report_.notes, note)) report_.notes.push_back(note);
      }
      report_.inputs.push_back(std::move(report));
    }
  }

  const TensorFunction& f_;
  std::span<const Tensor> inputs_;
  Arithmetic arithmetic_;
  const GradcheckOptions& options_;
  RandomStream stream_;
  GradcheckReport report_;
};

// Where f narrows its numbers, the resulting error is not f's.
std::optional<GradcheckReport> checked_wide(const TensorFunction& f, std::span<const Tensor> inputs,
                                            const GradcheckOptions& options,
                                            std::string& narrowed_by) {
  const WideRun wide;  // the outermost, which keeps the note
  try {
    GradcheckReport report = Check(f, inputs, kQuadruple, options).run();
    narrowed_by = WideRun::narrowed_by();
    if (narrowed_by.empty()) return report;
  } catch (const Error&) {
    narrowed_by = WideRun::narrowed_by();
    if (narrowed_by.empty()) throw;
  }
  return std::nullopt;
}

}  // namespace

GradcheckReport gradcheck(const TensorFunction& f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options) {
  check_inputs(inputs, options);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Tensor> at =
      moved(inputs, options.move_by, RandomStream(options.seed).derive("move"));
  const Tensor y = value_of(f, at);
  check_same(y, value_of(f, at));
  const TensorFunction in_f64 = [&](std::span<const Tensor> x) {
    std::vector<Tensor> narrow;
    for (size_t i = 0; i < x.size(); ++i) narrow.push_back(cast(x[i], at[i].dtype()));
    const Tensor value = f(narrow);
    return is_floating(value.dtype()) ? cast(value, DType::f64) : value;
  };
  std::string narrowed_by;
  std::optional<GradcheckReport> report;
  if (std::ranges::any_of(at, is_f32)) {
    report = Check(in_f64, at, kSingle, options).run();
    report->computed_in = "f32";
    report->notes.push_back("checked in f32, where rounding may hide a derivative");
  } else {
    report = checked_wide(in_f64, at, options, narrowed_by);
  }
  if (!report) {
    report = Check(in_f64, at, kDouble, options).run();
    report->computed_in = "f64";
    report->notes.push_back(absl::StrCat("checked in f64, where rounding may hide a derivative: ",
                                         narrowed_by, " reads numbers as doubles"));
  }
  if (!report->passed() && options.name_wrong_op && !options.only_verdict &&
      report->backward_error.empty()) {
    options.tell("which op is wrong");
    report->wrong_op = options.name_wrong_op(f, at, options);
  }
  check_same(y, value_of(f, at));  // none has changed meanwhile, either
  if (options.move_by != 0.0) {
    report->notes.push_back(
        absl::StrFormat("the inputs were moved at random by up to %g", options.move_by));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  report->seconds = elapsed.count();
  return *std::move(report);
}

}  // namespace qkv
