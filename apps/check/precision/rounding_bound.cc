#include "apps/check/precision/rounding_bound.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/graph/interceptor.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/graph/recorder.h"
#include "framework/graph/rounding.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// Below the smallest normal number of f32 and bf16 results may be flushed to zero.
constexpr double kUnderflow = 0x1p-126;

// What a cast between floating types is without rounding.
class Identity final : public Op {
 public:
  std::string_view name() const override { return "cast"; }
  Array forward(const Inputs& x) override { return x[0]; }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override { return {dy}; }
  Saves saves() const override { return Saves::kNothing; }
};

Tensor in_f64(const Tensor& x) {
  if (!is_floating(x.dtype())) return x;
  return cast(x.detached(), DType::f64);
}

Rounding rounding_of(Op& op, const ExactCall& call) {
  Rounding rounding = op.rounding(call);
  if (rounding.formula.empty()) {
    fail(absl::StrCat("gradcheck: no rule says how the op ", std::string(op.name()),
                      " rounds: give it a rounding(), in the file of the op"));
  }
  return rounding;
}

// How many elements are as near to a kink as the two runs to each other.
int64_t kinks_of(const Rounding& rounding, TensorSpan narrow, TensorSpan exact) {
  std::vector<double> apart(rounding.to_kink.size());
  for (size_t k = 0; k < narrow.size() && !apart.empty(); ++k) {
    const std::vector<double> a = narrow[k].to_vector(), b = exact[k].to_vector();
    for (size_t i = 0; i < a.size(); ++i) apart[i] += std::abs(a[i] - b[i]);
  }
  int64_t count = 0;
  for (size_t i = 0; i < apart.size(); ++i) {
    count += apart[i] > 0.0 && rounding.to_kink[i] <= 2 * apart[i];
  }
  return count;
}

// Which elements the op chose when it ran last, as max does.
std::vector<double> choices_of(Op& op) {
  std::vector<double> choices;
  for (const Kept& kept : op.kept()) {
    if (kept.array->dtype() != DType::i64) continue;
    const std::vector<double> places = kept.array->to_vector();
    choices.insert(choices.end(), places.begin(), places.end());
  }
  return choices;
}

int64_t differences(const std::vector<double>& a, const std::vector<double>& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

}  // namespace

std::vector<Tensor> results_of(const TensorFunction& f, std::span<const Tensor> inputs,
                               const Tensor& cotangent, bool create_graph) {
  const RecordGradients record(true);
  std::vector<Tensor> results = {f(inputs)};
  const Tensor y = results[0];
  results.resize(1 + inputs.size());
  if (!y.requires_grad()) return results;
  const Gradients gradients = backward(y, {.cotangent = cotangent, .create_graph = create_graph});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (gradients.contains(inputs[i])) results[i + 1] = gradients[inputs[i]];
  }
  return results;
}

// Runs every op of the narrow run again, exactly, and keeps the twin of every narrow tensor.
class RoundedRun::Twins {
 public:
  // The rounding of one exact node.
  struct Rounded {
    std::string op;
    std::vector<double> errors;  // none: it is exact
  };

  Tensor leaf(const Tensor& x) {
    Tensor narrow = parameter(x.array());
    remember(narrow, parameter(in_f64(narrow).array()));
    return narrow;
  }

  Tensor exact(const Tensor& narrow) const {
    if (!narrow.defined()) return narrow;
    if (!narrow.requires_grad()) return in_f64(narrow);
    const auto found = twins_.find(narrow.node().get());
    if (found == twins_.end()) fail("gradcheck: the tensor belongs to another graph");
    return found->second.exact;
  }

  // Runs a recorded op once more, exactly, and remembers that as the twin of its result.
  void run(const RecordedOp& narrow) {
    Op& op = *narrow.op;
    std::vector<Tensor> exact_inputs;
    for (const Tensor& x : narrow.x) exact_inputs.push_back(exact(x));
    const std::vector<double> choices = choices_of(op);
    const bool casts = op.name() == "cast";
    const Tensor y = casts ? run_directly(std::make_shared<Identity>(), exact_inputs)
                           : run_directly(narrow.op, exact_inputs);
    kinks_ += differences(choices, choices_of(op));
    const DType from = narrow.x[0].dtype(), to = narrow.y.dtype();
    note_rounding(narrow, exact_inputs, y);
    const bool narrows = unit_roundoff(to) > unit_roundoff(from);
    if (casts ? narrows : to == DType::bf16) note_storing(to, y);
    remember(narrow.y, y);
  }

  const Rounded* rounding(const Op& op) const {
    const auto found = roundings_.find(&op);
    return found == roundings_.end() ? nullptr : &found->second;
  }
  double chain(const Node* node) const {
    const auto found = chains_.find(node);
    return found == chains_.end() ? 0.0 : found->second;
  }
  int64_t kinks() const { return kinks_; }
  double narrowest_roundoff() const { return narrowest_; }
  const std::map<std::string, std::string>& formulas() const { return formulas_; }

 private:
  struct Twin {
    Tensor narrow, exact;
  };

  void remember(const Tensor& narrow, const Tensor& exact) {
    narrowest_ = std::max(narrowest_, unit_roundoff(narrow.dtype()));
    twins_[narrow.node().get()] = {narrow, exact};
  }

  double roundings_of_sum(const Tensor& exact) const {
    const auto found = sums_.find(exact.node().get());
    return found == sums_.end() ? 0.0 : found->second;
  }

  void note_rounding(const RecordedOp& narrow, TensorSpan x, const Tensor& y) {
    Op& op = *narrow.op;
    double& chain_of_y = chains_[y.node().get()];
    for (const Tensor& input : x) chain_of_y = std::max(chain_of_y, chain(input.node().get()));
    if (op.name() == "cast") return;
    std::vector<double> sum_roundings;
    for (const Tensor& input : x) sum_roundings.push_back(roundings_of_sum(input));
    Rounding rounding = rounding_of(op, {.x = x, .y = y, .sum_roundings = sum_roundings});
    sums_[y.node().get()] = rounding.sum_roundings;
    formulas_[std::string(op.name())] = rounding.formula;
    kinks_ += kinks_of(rounding, narrow.x, x);
    if (rounding.errors.empty()) return;
    // The exact run is rounded, too, if only to f64.
    const double u = unit_roundoff(computed_dtype(narrow.x[0].dtype())) + unit_roundoff(DType::f64);
    for (double& e : rounding.errors) e = u * e + kUnderflow;
    chain_of_y += u * rounding.roundings;
    roundings_[&y.node()->op()] = {std::string(op.name()), std::move(rounding.errors)};
  }

  // What a cast stores in a narrower type, and an op that rounds in bf16, is rounded once more.
  void note_storing(DType dtype, const Tensor& y) {
    const Op& op = y.node()->op();
    if (op.name() == "cast") {
      roundings_[&op].op = absl::StrCat("cast to ", std::string(dtype_name(dtype)));
    }
    const auto found = roundings_.find(&op);
    if (found == roundings_.end()) return;  // it is exact
    const std::vector<double> values = y.to_vector();
    std::vector<double>& errors = found->second.errors;
    errors.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      errors[i] += unit_roundoff(dtype) * std::abs(values[i]) + kUnderflow;
    }
    chains_[y.node().get()] += unit_roundoff(dtype);
  }

  std::unordered_map<const Node*, Twin> twins_;       // by the narrow node
  std::unordered_map<const Op*, Rounded> roundings_;  // by the exact node's op
  std::unordered_map<const Node*, double> sums_;  // the roundings of the exact nodes that are sums
  std::unordered_map<const Node*, double> chains_;  // n u up to the exact node
  std::map<std::string, std::string> formulas_;     // by the op
  int64_t kinks_ = 0;
  double narrowest_ = 0.0;  // its u
};

namespace {

// Sums |dy / dz_i| e_i of each op while backward runs.
template <class Twins>
class ErrorSum final : public Observer {
 public:
  explicit ErrorSum(const Twins& twins) : twins_(twins) {}

  void before_backward(const Op& op, const Tensor& adjoint) override {
    const auto* rounding = twins_.rounding(op);
    if (!rounding) return;
    const double* dz = adjoint.array().template data<double>();
    double sum = 0.0;
    for (size_t i = 0; i < rounding->errors.size(); ++i) {
      const double e = rounding->errors[i];
      sum += e == 0.0 ? 0.0 : std::abs(dz[i]) * e;
    }
    error_by_op_[rounding->op] += sum;
  }

  RoundingBound sum() const {
    RoundingBound result;
    double max_error = 0.0;
    for (const auto& [op, error] : error_by_op_) {
      result.bound += error;
      if (error > max_error) max_error = error, result.largest = op;
    }
    return result;
  }

 private:
  const Twins& twins_;
  std::map<std::string, double> error_by_op_;
};

Tensor one_at(const Shape& shape, int64_t element) {
  std::vector<double> values(static_cast<size_t>(shape.size()));
  values[static_cast<size_t>(element)] = 1.0;
  return Tensor(Array::of(shape, DType::f64, values));
}

}  // namespace

RoundedRun::RoundedRun(const TensorFunction& f, std::span<const Tensor> inputs,
                       const Tensor& cotangent)
    : twins_(std::make_unique<Twins>()) {
  const RecordGradients record(true);
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) leaves.push_back(is_floating(x.dtype()) ? twins_->leaf(x) : x);
  const Tensor v = cotangent.defined() ? twins_->leaf(cotangent) : Tensor();
  const ComposedOnly composed;
  const Interceptor none;  // the ops as they are
  std::vector<RecordedOp> ops;
  const std::vector<Tensor> narrow = [&] {
    const Recorder recorder(ops);
    return results_of(f, leaves, v, /*create_graph=*/true);
  }();
  for (const RecordedOp& each : ops) {
    if (each.y.requires_grad()) twins_->run(each);
  }
  for (const Tensor& result : narrow) exact_.push_back(twins_->exact(result));
}

RoundedRun::~RoundedRun() = default;

const std::vector<Tensor>& RoundedRun::exact() const { return exact_; }
int64_t RoundedRun::kinks() const { return twins_->kinks(); }
double RoundedRun::narrowest_roundoff() const { return twins_->narrowest_roundoff(); }
const std::map<std::string, std::string>& RoundedRun::formulas() const {
  return twins_->formulas();
}

RoundingBound RoundedRun::bound(size_t result, int64_t element) const {
  const Tensor& y = exact_[result];
  if (!y.requires_grad()) return {};  // a constant is what it is
  ErrorSum<Twins> errors(*twins_);
  backward(y, {.cotangent = one_at(y.shape(), element), .keep_graph = true});
  RoundingBound total = errors.sum();
  total.roundings = twins_->chain(y.node().get());
  total.bound = total.roundings < 1.0 ? total.bound / (1.0 - total.roundings) : INFINITY;
  return total;
}

}  // namespace qkv
