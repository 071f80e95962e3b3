#include "apps/check/mutation/formula_tracer.h"

#include "absl/strings/str_cat.h"
#include "framework/graph/node.h"
#include "framework/graph/op_faces.h"

namespace qkv {
namespace {

constexpr size_t kDepth = 3;             // how many ops stand inside of each other in a text
constexpr char kUnknown[] = "constant";  // made by no step of the formula

std::vector<std::string> as_named(const std::string& name) {
  return std::vector<std::string>(kDepth + 1, name);
}

}  // namespace

FormulaTracer::Origin FormulaTracer::origin_of(const Tensor& x) const {
  const auto found = origins_.find({x.array().raw(), x.shape().to_string()});
  return found == origins_.end() ? as_named(kUnknown) : found->second;
}

FormulaTracer::Origin FormulaTracer::origin_of_step(const Op& op, TensorSpan inputs) const {
  Origin origin = {"…"};
  for (size_t depth = 1; depth <= kDepth; ++depth) {
    std::string text = absl::StrCat(std::string(op.name()), "(");
    for (size_t i = 0; i < inputs.size(); ++i) {
      absl::StrAppend(&text, i > 0 ? ", " : "", origin_of(inputs[i])[depth - 1]);
    }
    origin.push_back(absl::StrCat(text, ")"));
  }
  return origin;
}

void FormulaTracer::know(const Tensor& x, Origin origin) {
  alive_.push_back(x);
  origins_[{x.array().raw(), x.shape().to_string()}] = std::move(origin);
}

Tensor FormulaTracer::run_forward(const std::shared_ptr<Op>& op, TensorSpan x) {
  Tensor y = next(op, x);
  if (!y.requires_grad()) return y;  // no backward reads anything
  Op& recorded = y.node()->op();
  for (const Kept& kept : kept_of(recorded)) {
    const FormulaPlace place = {std::string(recorded.name()), absl::StrCat("kept ", kept.name)};
    *kept.array = keep(place, *kept.array);
  }
  return y;
}

Tensor FormulaTracer::forward(const std::shared_ptr<Op>& op, TensorSpan x) {
  if (!in_formula_) return run_forward(op, x);
  if (op->name() == "reshape" || op->name() == "broadcast_to") {
    Origin same = origin_of(x[0]);
    Tensor y = next(op, x);
    know(y, std::move(same));
    return y;
  }
  Origin origin = origin_of_step(*op, x);
  FormulaPlace place = {op_, origin.back()};
  if (const int number = ++seen_[place.text]; number > 1) {
    absl::StrAppend(&place.text, ", no. ", number);
  }
  in_formula_ = false;  // a subclass's ops are not steps
  Tensor y = step(place, op, {x.begin(), x.end()});
  in_formula_ = true;
  know(y, std::move(origin));
  return y;
}

std::vector<Tensor> FormulaTracer::backward(const Op& op, const Saved& saved, const Tensor& dy) {
  op_ = op.name();
  know(dy, as_named("dy"));
  in_formula_ = true;
  std::vector<Tensor> dx = next(op, saved, dy);
  in_formula_ = false;
  std::vector<FormulaPlace> places;
  for (size_t i = 0; i < dx.size(); ++i) {
    const std::string origin = origin_of(dx[i]).back();
    places.push_back({op_, origin == kUnknown ? absl::StrCat("dx[", i, "], of a kernel,")
                                              : absl::StrCat("dx[", i, "] = ", origin)});
  }
  returned(places, saved, dx);
  seen_.clear();
  origins_.clear();
  alive_.clear();
  replacements_.clear();
  return dx;
}

const Tensor& FormulaTracer::saved_input(size_t i, const Tensor& x) {
  if (!in_formula_) return x;
  const std::string name = absl::StrCat("x[", i, "]");
  in_formula_ = false;
  const Tensor result = read({op_, "saved " + name}, x);
  in_formula_ = true;
  // A copy: two inputs may be one tensor, and have two names all the same.
  replacements_.emplace_back(result.array().copy(), result.node());
  know(replacements_.back(), as_named(name));
  return replacements_.back();
}

Tensor FormulaTracer::saved_output(const Tensor& y) {
  if (!in_formula_) return y;
  in_formula_ = false;
  Tensor result = read({op_, "saved y"}, y);
  in_formula_ = true;
  know(result, as_named("y"));
  return result;
}

}  // namespace qkv
