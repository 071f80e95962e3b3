#include "apps/check/precision/precision_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/check/precision/rounding_bound.h"
#include "framework/core/error.h"
#include "framework/core/position.h"
#include "framework/gradcheck/probe.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

constexpr double kInfiniteError = std::numeric_limits<double>::infinity();

// The first `count` places, the largest values first.
std::vector<int64_t> largest_value(const std::vector<double>& values, int64_t count) {
  std::vector<int64_t> places(values.size());
  std::iota(places.begin(), places.end(), 0);
  const auto value = [&](int64_t place) { return values[static_cast<size_t>(place)]; };
  const auto end = places.begin() + std::min<int64_t>(count, std::ssize(places));
  std::ranges::partial_sort(places, end, std::greater<>(), value);
  places.erase(end, places.end());
  return places;
}

std::vector<int64_t> elements_to_compare(const std::vector<double>& narrow,
                                         const std::vector<double>& exact,
                                         const PrecisionOptions& options, RandomStream stream) {
  const auto size = std::ssize(exact);
  std::set<int64_t> chosen;
  if (size <= options.all_elements) {
    for (int64_t i = 0; i < size; ++i) chosen.insert(i);
    return {chosen.begin(), chosen.end()};
  }
  std::vector<double> errors, sizes;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double error = std::abs(narrow[i] - exact[i]);
    errors.push_back(std::isnan(error) ? kInfiniteError : error);
    sizes.push_back(std::abs(exact[i]));
  }
  for (const int64_t i : largest_value(errors, options.sampled / 4)) chosen.insert(i);
  for (const int64_t i : largest_value(sizes, options.sampled / 4)) chosen.insert(i);
  while (std::ssize(chosen) < options.sampled) {
    chosen.insert(static_cast<int64_t>(stream.below(static_cast<uint64_t>(size))));
  }
  return {chosen.begin(), chosen.end()};
}

double ulp_of(double value, double roundoff) {
  if (value == 0.0 || !std::isfinite(value)) return 0.0;
  return 2 * roundoff * std::exp2(std::floor(std::log2(std::abs(value))));
}

Verdict verdict_of(const ElementPrecision& e, bool kinks) {
  const bool same = e.narrow == e.exact;  // two infinities, too
  if (same || e.error <= e.bound) {
    return std::isfinite(e.bound) || same ? Verdict::kPass : Verdict::kUndecided;
  }
  return kinks ? Verdict::kUndecided : Verdict::kFail;  // a NaN comes here
}

class Comparison {
 public:
  Comparison(const RoundedRun& run, const PrecisionOptions& options)
      : run_(run), options_(options) {}

  ResultPrecision compare(size_t result, const Tensor& narrow_tensor, std::string name) {
    const Tensor& exact_tensor = run_.exact()[result];
    const std::vector<double> narrow = narrow_tensor.to_vector(), exact = exact_tensor.to_vector();
    double largest = 0.0;
    for (const double y : exact) {
      if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
    }
    ResultPrecision report = {
        .name = std::move(name), .shape = exact_tensor.shape(), .dtype = narrow_tensor.dtype()};
    const RandomStream stream = RandomStream(options_.seed).derive("elements").derive(result);
    for (const int64_t i : elements_to_compare(narrow, exact, options_, stream)) {
      const double y = exact[static_cast<size_t>(i)], given = narrow[static_cast<size_t>(i)];
      const RoundingBound bound = run_.bound(result, i);
      ElementPrecision e = {.element = i,
                            .narrow = given,
                            .exact = y,
                            .error = std::abs(given - y),
                            .bound = bound.bound,
                            .ulp = ulp_of(y == 0.0 ? largest : y, run_.narrowest_roundoff()),
                            .largest = bound.largest};
      e.verdict = verdict_of(e, run_.kinks() > 0);
      roundings_ = std::max(roundings_, bound.roundings);
      report.elements.push_back(std::move(e));
    }
    std::ranges::stable_sort(report.elements, std::greater<>(), &ElementPrecision::ratio);
    return report;
  }

  double roundings() const { return roundings_; }

 private:
  const RoundedRun& run_;
  const PrecisionOptions& options_;
  double roundings_ = 0.0;
};

std::string in_ulps(double error, const ElementPrecision& e) {
  return e.has_sure_digits() ? absl::StrFormat("%.3g ulp", error / e.ulp)
                             : absl::StrFormat("%.3g", error);
}

std::string text_of(const ResultPrecision& result, const ElementPrecision& e) {
  return absl::StrFormat("      %sat %s: %.9g, exact %.9g, error %s, bound %s, ratio %.2g%s\n",
                         e.verdict == Verdict::kPass
                             ? "worst "
                             : absl::StrCat(std::string(verdict_name(e.verdict)), " "),
                         position(result.shape, e.element), e.narrow, e.exact, in_ulps(e.error, e),
                         in_ulps(e.bound, e), e.ratio(),
                         e.largest.empty() ? "" : absl::StrCat(", most by ", e.largest));
}

}  // namespace

double ElementPrecision::ratio() const {
  if (narrow == exact) return 0.0;
  const double quotient = error / bound;
  return std::isnan(quotient) ? kInfiniteError : quotient;
}

bool ElementPrecision::has_sure_digits() const { return bound < std::abs(exact); }

Verdict ResultPrecision::verdict() const {
  Verdict all = Verdict::kPass;
  for (const ElementPrecision& e : elements) all = worse(all, e.verdict);
  return all;
}

Verdict PrecisionReport::verdict() const {
  Verdict all = Verdict::kPass;
  for (const ResultPrecision& result : results) all = worse(all, result.verdict());
  return all;
}

int64_t PrecisionReport::compared() const {
  int64_t count = 0;
  for (const ResultPrecision& result : results) count += std::ssize(result.elements);
  return count;
}

std::vector<double> PrecisionReport::ratios() const {
  std::vector<double> all;
  for (const ResultPrecision& result : results) {
    for (const ElementPrecision& e : result.elements) all.push_back(e.ratio());
  }
  std::ranges::sort(all);
  return all;
}

std::string PrecisionReport::to_text() const {
  std::string text;
  for (const ResultPrecision& result : results) {
    absl::StrAppend(&text, std::string(verdict_name(result.verdict())), "  ", result.name, " ",
                    std::string(dtype_name(result.dtype)), result.shape.to_string(), ": ",
                    result.elements.size(), " compared\n");
    int listed = 0;
    for (const ElementPrecision& e : result.elements) {
      const bool list = listed == 0 || e.verdict != Verdict::kPass;
      if (list && listed++ < worst) text += text_of(result, e);
    }
  }
  absl::StrAppendFormat(&text, "%s: %d compared, longest chain of roundings n u = %.2g",
                        std::string(verdict_name(verdict())), compared(), roundings);
  if (kinks > 0) absl::StrAppend(&text, ", ", kinks, " at a kink");
  return text + "\n";
}

PrecisionReport precision_check(const TensorFunction& f, std::span<const Tensor> inputs,
                                const PrecisionOptions& options) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) {
    leaves.push_back(is_floating(x.dtype()) ? parameter(x.array()) : x);
  }
  const Tensor y = f(leaves);
  const RandomStream stream = RandomStream(options.seed).derive("cotangent");
  const Tensor cotangent = y.requires_grad() ? random_like(y, stream) : Tensor();
  const std::vector<Tensor> narrow = results_of(f, leaves, cotangent);
  const RoundedRun run(f, inputs, cotangent);

  PrecisionReport report = {
      .kinks = run.kinks(), .roundoff = run.narrowest_roundoff(), .worst = options.worst};
  Comparison comparison(run, options);
  for (size_t i = 0; i < narrow.size(); ++i) {
    if (narrow[i].defined() != run.exact()[i].defined()) {
      fail("gradcheck: the fused and the composed graph give gradients to different inputs");
    }
    if (!narrow[i].defined() || !is_floating(narrow[i].dtype())) continue;
    const std::string name =
        i == 0
            ? "the result"
            : absl::StrCat("the gradient of ", options.names.empty() ? absl::StrCat("input ", i - 1)
                                                                     : options.names[i - 1]);
    report.results.push_back(comparison.compare(i, narrow[i], name));
  }
  report.roundings = comparison.roundings();
  return report;
}

std::optional<std::vector<Tensor>> inputs_in(DType dtype, const OpExample& example, uint64_t seed) {
  const std::vector<Tensor> wide = make_inputs(example, computed_dtype(dtype), RandomStream(seed));
  if (dtype != DType::bf16) return wide;
  const std::vector<Tensor> rounded = make_inputs(example, dtype, RandomStream(seed));
  for (size_t k = wide.size(); k > 0; --k) {
    if (!is_floating(wide[k - 1].dtype())) continue;
    std::vector<Tensor> inputs(rounded.begin(), rounded.begin() + static_cast<std::ptrdiff_t>(k));
    inputs.insert(inputs.end(), wide.begin() + static_cast<std::ptrdiff_t>(k), wide.end());
    try {
      const NoGrad no_grad;
      example.f(inputs);
      return inputs;
    } catch (const Error&) {  // it takes no bf16 there
    }
  }
  return std::nullopt;
}

std::map<std::string, std::string> rounding_formulas() {
  std::map<std::string, std::string> all;
  for (const OpExamples& op : op_examples()) {
    for (const OpExample& example : op.examples) {
      const std::vector<Tensor> inputs = make_inputs(example, DType::f32, RandomStream(1));
      const Tensor y = example.f(inputs);
      if (!y.requires_grad()) continue;
      all.merge(std::map(RoundedRun(example.f, inputs, ones(y.shape(), y.dtype())).formulas()));
    }
  }
  return all;
}

}  // namespace qkv
