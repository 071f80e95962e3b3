#include "framework/gradcheck/rounding_bound.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/gradcheck/rounding_rules.h"
#include "framework/gradcheck/shared_op.h"
#include "framework/graph/interceptor.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
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

const RoundingRule& rule_of(const Op& op) {
  const RoundingRule* rule = rounding_rule_of(op.name());
  if (!rule) {
    fail(absl::StrCat("gradcheck: no rule says how the op ", std::string(op.name()),
                      " rounds: give it one in gradcheck/rounding_rules.cc"));
  }
  return *rule;
}

bool is_sum(const Op& op) {
  return op.name() == "sum" || op.name() == "sum_to" || op.name() == "matmul" ||
         op.name() == "fold";
}

// How many elements of relu and maximum are as near to a kink as the two runs to each other.
int64_t kinks_of(std::string_view op, std::span<const Tensor> narrow,
                 std::span<const Tensor> exact) {
  if (op != "relu" && op != "maximum") return 0;
  const bool two = op == "maximum";
  const auto values = [](const Tensor& x) { return x.to_vector(); };
  const std::vector<double> a = values(exact[0]), near_a = values(narrow[0]);
  const std::vector<double> b = two ? values(exact[1]) : std::vector<double>(a.size());
  const std::vector<double> near_b = two ? values(narrow[1]) : b;
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double apart = std::abs(near_a[i] - a[i]) + std::abs(near_b[i] - b[i]);
    count += apart > 0.0 && std::abs(a[i] - b[i]) <= 2 * apart;
  }
  return count;
}

// Where the largest element of each row stood when max ran last.
std::vector<double> places_of_max(Op& op) {
  return op.name() == "max" ? op.kept()[0].array->to_vector() : std::vector<double>();
}

int64_t differences(const std::vector<double>& a, const std::vector<double>& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

}  // namespace

double unit_roundoff(DType dtype) {
  switch (dtype) {
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

// Runs every op twice, and keeps the exact twin of every narrow tensor.
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

  // One call of an op: the narrow result, whose exact twin is remembered.
  Tensor run(std::unique_ptr<Op> op, std::vector<Tensor> inputs) {
    const std::shared_ptr<Op> shared = std::move(op);
    std::vector<Tensor> exact_inputs;
    for (const Tensor& x : inputs) exact_inputs.push_back(exact(x));
    const bool casts = shared->name() == "cast";
    const Tensor exact_y = casts ? run_directly(std::make_unique<Identity>(), exact_inputs)
                                 : run_directly(std::make_unique<SharedOp>(shared), exact_inputs);
    const DType dtype = inputs[0].dtype();
    note_rounding(*shared, dtype, exact_inputs, exact_y);
    kinks_ += kinks_of(shared->name(), inputs, exact_inputs);
    const std::vector<double> places = places_of_max(*shared);
    Tensor y = run_directly(std::make_unique<SharedOp>(shared), std::move(inputs));
    kinks_ += differences(places, places_of_max(*shared));
    const bool narrows = unit_roundoff(y.dtype()) > unit_roundoff(dtype);
    if (casts ? narrows : y.dtype() == DType::bf16) note_storing(y.dtype(), exact_y);
    remember(y, exact_y);
    return y;
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

  void note_rounding(Op& op, DType dtype, std::span<const Tensor> x, const Tensor& y) {
    double& chain_of_y = chains_[y.node().get()];
    for (const Tensor& input : x) chain_of_y = std::max(chain_of_y, chain(input.node().get()));
    if (op.name() == "cast") return;
    std::vector<double> sum_roundings;
    for (const Tensor& input : x) sum_roundings.push_back(roundings_of_sum(input));
    Rounding rounding =
        rule_of(op).rounding({.op = op, .x = x, .roundings = sum_roundings, .y = y.array()});
    if (is_sum(op)) sums_[y.node().get()] = rounding.roundings;
    if (op.name() == "reshape" || op.name() == "permute") {
      sums_[y.node().get()] = sum_roundings[0];
    }
    if (rounding.errors.empty()) return;
    // The exact run is rounded, too, if only to f64.
    const double u = unit_roundoff(computed_dtype(dtype)) + unit_roundoff(DType::f64);
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
  int64_t kinks_ = 0;
  double narrowest_ = 0.0;  // its u
};

namespace {

// Hands every recorded op to the twins.
template <class Twins>
class RunsTwice final : public Interceptor {
 public:
  explicit RunsTwice(Twins& twins) : twins_(twins) {}
  Tensor run(std::unique_ptr<Op> op, std::vector<Tensor> inputs) override {
    if (!records(inputs)) return run_directly(std::move(op), std::move(inputs));
    return twins_.run(std::move(op), std::move(inputs));
  }

 private:
  Twins& twins_;
};

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
  const RunsTwice<Twins> interceptor(*twins_);
  for (const Tensor& result : results_of(f, leaves, v, /*create_graph=*/true)) {
    exact_.push_back(twins_->exact(result));
  }
}

RoundedRun::~RoundedRun() = default;

const std::vector<Tensor>& RoundedRun::exact() const { return exact_; }
int64_t RoundedRun::kinks() const { return twins_->kinks(); }
double RoundedRun::narrowest_roundoff() const { return twins_->narrowest_roundoff(); }

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
