#include "apps/check/precision/precision_check.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/core/shape.h"
#include "framework/gradcheck/arithmetic.h"
#include "framework/gradcheck/derivatives.h"
#include "framework/gradcheck/probe.h"
#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/graph/recorder.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kRuns = 12;  // with roundings
// Times the largest change of them. An error of a standard deviation is above that with a
// probability of 2e-16; of all errors 2e-12 are: none of millions fails by chance.
constexpr double kBeyond = 16;
// Below the smallest normal number of f32 and bf16 results may be flushed to zero.
constexpr double kUnderflow = 0x1p-126;

using Results = std::vector<std::vector<double>>;  // empty: none

// The value of f, and then the gradient of each input (Jᵀ cotangent; undefined where f does not
// depend on it, and for masks and indices), by the backward that training runs, or with a graph.
std::vector<Tensor> results_of(const Recorded& f, const Tensor& cotangent, bool create_graph) {
  std::vector<Tensor> results = f.gradients(cotangent, create_graph);
  results.insert(results.begin(), f.output());
  return results;
}

bool is_narrow(const Tensor& x) {
  return is_floating(x.dtype()) && unit_roundoff(x.dtype()) > unit_roundoff(DType::f64);
}

// How far each element is from where the op takes another branch; nothing where there is none.
std::vector<double> from_kink(const Op& op, TensorSpan x, const Tensor& y) {
  if (op.name() == "relu") return x[0].to_vector();
  if (op.name() == "maximum") return (x[0] - x[1]).to_vector();
  if (op.name() == "max") return (x[0] - y).to_vector();
  return {};
}

// f and its backward by the composed formulas, recorded in the number types that f uses, and run
// again in f64 op by op. Masks and choices of the recorded run stay: each run takes its branches.
class ExactRuns {
 public:
  ExactRuns(const TensorFunction& f, std::span<const Tensor> inputs, const Tensor& cotangent) {
    const ComposedOnly composed;
    const OpsAsTheyAre none;  // the ops as they are
    const Recorder recorder(ops_);
    const Recorded recorded(f, inputs);
    const Tensor v = cotangent.defined() ? parameter(cotangent.array()) : Tensor();
    if (v.defined()) inputs_.push_back(v);
    std::ranges::copy_if(recorded.leaves(), std::back_inserter(inputs_), &Tensor::requires_grad);
    for (const Tensor& x : inputs_) roundoff_ = std::max(roundoff_, unit_roundoff(x.dtype()));
    results_ = results_of(recorded, v, /*create_graph=*/true);
  }

  // The results, with roundings from the stream, or exact.
  Results run(const RandomStream* stream) {
    const NoGrad no_grad;
    const OpsAsTheyAre none;
    stream_ = stream, moves_ = 0, place_ = 0;
    twins_.clear();
    for (const Tensor& x : inputs_) twins_[x.node().get()] = in_f64(x);
    for (const RecordedOp& each : ops_) {
      if (each.y.requires_grad()) run_again(each);
    }
    Results results;
    for (const Tensor& y : results_) {
      const bool counts = y.defined() && is_floating(y.dtype());
      results.push_back(counts ? twin(y).to_vector() : std::vector<double>());
    }
    return results;
  }

  DType dtype(size_t result) const { return results_[result].dtype(); }
  const Shape& shape(size_t result) const { return results_[result].shape(); }
  bool has(size_t result) const { return results_[result].defined(); }
  double roundoff() const { return roundoff_; }

  double roundings() {
    std::unordered_map<const Node*, double> chains;
    double longest = 0.0;
    for (const RecordedOp& each : ops_) {
      if (!each.y.requires_grad()) continue;
      double chain = 0.0;
      for (const Tensor& x : each.x) chain = std::max(chain, chains[x.node().get()]);
      chain += is_floating(each.y.dtype()) ? unit_of_result(each) : 0.0;
      chains[each.y.node().get()] = chain;
      longest = std::max(longest, chain);
    }
    return longest;
  }

  // The kinks of the run and all before it.
  int64_t kinks() const {
    int64_t count = 0;
    for (const Kink& kink : kinks_) {
      for (size_t i = 0; i < kink.exact.size(); ++i) {
        count += kink.changes[i] > 0 && std::abs(kink.exact[i]) <= kBeyond * kink.changes[i];
      }
    }
    return count;
  }

 private:
  struct Kink {
    std::vector<double> exact, changes;
  };

  static Tensor in_f64(const Tensor& x) {
    return is_floating(x.dtype()) ? cast(x.detached(), DType::f64) : x;
  }

  Tensor twin(const Tensor& narrow) const {
    if (!narrow.defined()) return narrow;
    if (!narrow.requires_grad()) return in_f64(narrow);
    return twins_.at(narrow.node().get());
  }

  // The rounding of a stored result: an op that is exact in a narrow type reads it there.
  static double unit_of_result(const RecordedOp& op) {
    const double to = unit_roundoff(op.y.dtype());
    if (op.op->name() != "cast") return to;
    return to > unit_roundoff(op.x[0].dtype()) ? to : 0.0;
  }

  Tensor moved(const Tensor& x, double unit) {
    if (!stream_ || !is_floating(x.dtype()) || unit == 0.0) return x;
    return Tensor(moved_at_random(x.array(), unit, stream_->derive(moves_++)));
  }

  void run_again(const RecordedOp& narrow) {
    roundoff_ = std::max(roundoff_, unit_roundoff(narrow.y.dtype()));
    const bool casts = narrow.op->name() == "cast";
    std::unordered_map<const Node*, Tensor> read;  // the same number when read twice
    std::vector<Tensor> x;
    for (const Tensor& each : narrow.x) {
      if (!each.defined() || casts || !is_narrow(each)) {
        x.push_back(twin(each));
        continue;
      }
      Tensor& once = read[each.node().get()];
      if (!once.defined() || !each.requires_grad()) {
        once = moved(twin(each), unit_roundoff(computed_dtype(each.dtype())));
      }
      x.push_back(once);
    }
    Tensor y = casts ? x[0] : Tensor(narrow.op->forward(Inputs(x)));
    note_kinks(*narrow.op, x, y);
    if (casts || narrow.y.dtype() == DType::bf16) y = moved(y, unit_of_result(narrow));
    twins_[narrow.y.node().get()] = y;
  }

  void note_kinks(const Op& op, TensorSpan x, const Tensor& y) {
    std::vector<double> distances = from_kink(op, x, y);
    if (distances.empty()) return;
    const size_t place = place_++;
    if (place == kinks_.size()) {
      kinks_.push_back({.exact = distances, .changes = std::vector<double>(distances.size())});
      return;
    }
    Kink& kink = kinks_[place];
    for (size_t i = 0; i < distances.size(); ++i) {
      kink.changes[i] = std::max(kink.changes[i], std::abs(distances[i] - kink.exact[i]));
    }
  }

  std::vector<Tensor> inputs_, results_;
  std::vector<RecordedOp> ops_;
  std::unordered_map<const Node*, Tensor> twins_;  // by the recorded node
  std::vector<Kink> kinks_;                        // in the order of their ops
  const RandomStream* stream_ = nullptr;
  uint64_t moves_ = 0;
  size_t place_ = 0;
  double roundoff_ = 0.0;
};

Verdict verdict_of(const ElementPrecision& e, bool has_kinks) {
  const bool same = e.narrow == e.exact;  // two infinities, too
  if (same || e.error <= e.bound) {
    return std::isfinite(e.bound) || same ? Verdict::kPass : Verdict::kUndecided;
  }
  return has_kinks ? Verdict::kUndecided : Verdict::kFail;  // a NaN comes here
}

std::string text_of(const ResultPrecision& result, const ElementPrecision& e) {
  const bool passes = e.verdict == Verdict::kPass;
  return absl::StrFormat("      %s at %s: %.9g, exact %.9g, error %.3g, bound %.3g, ratio %.2g\n",
                         passes ? "worst" : name_of(e.verdict), position(result.shape, e.element),
                         e.narrow, e.exact, e.error, e.bound, e.ratio());
}

// Each number of a result beside the exact one; `changes` are those by rounding.
void compare(const std::vector<double>& narrow, const std::vector<double>& exact,
             const std::vector<double>& changes, const PrecisionReport& report, size_t kept,
             ResultPrecision& result) {
  const double u = is_floating(result.dtype) ? unit_roundoff(result.dtype) : 0.0;
  double largest = 0.0, largest_error = 0.0, noise = 0.0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double y = exact[i];
    ElementPrecision e = {.element = static_cast<int64_t>(i),
                          .narrow = narrow[i],
                          .exact = y,
                          .error = std::abs(narrow[i] - y)};
    if (std::isfinite(y)) {
      e.bound = report.roundings >= 1.0 ? kInfinity
                                        : kBeyond * (changes[i] + u * std::abs(y)) + kUnderflow;
      largest = std::max(largest, std::abs(y));
      noise = std::max(noise, changes[i]);
    }
    e.verdict = verdict_of(e, report.kinks > 0);
    result.verdict = worse(result.verdict, e.verdict);
    if (e.narrow != y) largest_error = std::max(largest_error, e.error);
    result.elements.push_back(e);
  }
  result.compared = std::ssize(exact);
  if (largest > noise) {
    result.digits = -std::log10(std::max(largest_error / largest, unit_roundoff(DType::f64)));
  }
  const auto end =
      result.elements.begin() + static_cast<std::ptrdiff_t>(std::min(kept, result.elements.size()));
  const auto before = [](const ElementPrecision& a, const ElementPrecision& b) {
    return a.ratio() != b.ratio() ? a.ratio() > b.ratio() : a.element < b.element;
  };
  std::ranges::partial_sort(result.elements, end, before);
  result.elements.erase(end, result.elements.end());
}

}  // namespace

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::f128:
      return 0x1p-113;
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0.0;
  }
}

double ElementPrecision::ratio() const {
  if (narrow == exact) return 0.0;
  const double quotient = error / bound;
  return std::isnan(quotient) ? kInfinity : quotient;
}

Verdict PrecisionReport::verdict() const {
  Verdict all = Verdict::kPass;
  for (const ResultPrecision& result : results) all = worse(all, result.verdict);
  return all;
}

int64_t PrecisionReport::compared() const {
  int64_t count = 0;
  for (const ResultPrecision& result : results) count += result.compared;
  return count;
}

double PrecisionReport::largest_ratio() const {
  double largest = 0.0;
  for (const ResultPrecision& result : results) {
    if (!result.elements.empty()) largest = std::max(largest, result.elements[0].ratio());
  }
  return largest;
}

std::string PrecisionReport::to_text() const {
  std::string text;
  for (const ResultPrecision& result : results) {
    absl::StrAppend(&text, name_of(result.verdict), "  ", result.name, " ",
                    std::string(dtype_name(result.dtype)), result.shape.to_string(), ": ",
                    result.compared, " compared");
    if (result.digits) absl::StrAppendFormat(&text, ", %.1f digits", *result.digits);
    text += "\n";
    int listed = 0;
    for (const ElementPrecision& e : result.elements) {
      const bool list = listed == 0 || e.verdict != Verdict::kPass;
      if (list && listed++ < worst) text += text_of(result, e);
    }
  }
  absl::StrAppendFormat(&text, "%s: %d compared", name_of(verdict()), compared());
  if (kinks > 0) absl::StrAppend(&text, ", ", kinks, " at a kink");
  return text + "\n";
}

PrecisionReport precision_check(const TensorFunction& f, std::span<const Tensor> inputs,
                                const PrecisionOptions& options) {
  const Recorded recorded(f, inputs);
  const Tensor& y = recorded.output();
  const RandomStream stream = RandomStream(options.seed);
  const Tensor cotangent =
      y.requires_grad() ? random_like(y, stream.derive("cotangent")) : Tensor();
  const std::vector<Tensor> narrow = results_of(recorded, cotangent, /*create_graph=*/false);

  ExactRuns runs(f, inputs, cotangent);
  const Results exact = runs.run(nullptr);
  Results changes;
  for (const std::vector<double>& each : exact) changes.emplace_back(each.size());
  for (uint64_t number = 1; number <= kRuns; ++number) {
    const RandomStream roundings = stream.derive("roundings").derive(number);
    const Results moved = runs.run(&roundings);
    for (size_t i = 0; i < exact.size(); ++i) {
      for (size_t k = 0; k < exact[i].size(); ++k) {
        changes[i][k] = std::max(changes[i][k], std::abs(moved[i][k] - exact[i][k]));
      }
    }
  }

  PrecisionReport report = {.kinks = runs.kinks(),
                            .roundoff = runs.roundoff(),
                            .roundings = runs.roundings(),
                            .worst = options.worst};
  for (size_t i = 0; i < narrow.size(); ++i) {
    if (narrow[i].defined() != runs.has(i)) {
      fail("gradcheck: the fused and the composed graph give gradients to different inputs");
    }
    if (!narrow[i].defined() || !is_floating(narrow[i].dtype())) continue;
    const std::string input =
        i == 0 || options.names.empty() ? absl::StrCat("input ", i - 1) : options.names[i - 1];
    ResultPrecision& result = report.results.emplace_back(
        ResultPrecision{.name = i == 0 ? "the result" : absl::StrCat("the gradient of ", input),
                        .shape = narrow[i].shape(),
                        .dtype = narrow[i].dtype()});
    compare(narrow[i].to_vector(), exact[i], changes[i], report, options.kept, result);
  }
  return report;
}

std::optional<std::vector<Tensor>> inputs_in(DType dtype, const OpExample& example, uint64_t seed) {
  std::vector<Tensor> wide = make_inputs(example, computed_dtype(dtype), RandomStream(seed));
  if (dtype != DType::bf16) return wide;
  const std::vector<Tensor> rounded = make_inputs(example, dtype, RandomStream(seed));
  for (size_t k = wide.size(); k > 0; --k) {
    if (!is_floating(wide[k - 1].dtype())) continue;
    std::vector<Tensor> inputs(rounded.begin(), rounded.begin() + k);
    inputs.insert(inputs.end(), wide.begin() + k, wide.end());
    try {
      const NoGrad no_grad;
      example.f(inputs);
      return inputs;
    } catch (const Error&) {  // it takes no bf16 there
    }
  }
  return std::nullopt;
}

}  // namespace qkv
