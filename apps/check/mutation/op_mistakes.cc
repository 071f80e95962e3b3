#include <algorithm>
#include <initializer_list>
#include <utility>

#include "apps/check/mutation/mutation.h"
#include "framework/gradcheck/arithmetic.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

using Operands = std::span<const Tensor>;

bool is_one_of(const Op& op, std::initializer_list<std::string_view> names) {
  return std::ranges::count(names, op.name()) > 0;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.array().raw() == b.array().raw() && a.shape() == b.shape();
}

// The last two axes in the other order, under the shape as it was.
bool has_matrix(const Tensor& x) { return x.rank() >= 2 && x.dim(-1) > 1 && x.dim(-2) > 1; }
Tensor transposed(const Tensor& x) {
  return has_matrix(x) ? reshape(transpose(x, -2, -1), x.shape().dims()) : x;
}

// The part of x that comes first along each axis that `shape` has not, or where its size is 1.
Tensor first_slice(Tensor x, const Shape& shape) {
  const int added = x.rank() - shape.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis < added || shape[axis - added] != x.dim(axis)) x = slice(x, axis, 0, 1);
  }
  return reshape(x, shape.dims());
}

// Where `x.shape` without some axis is `shape`, that with a 1 there.
Shape with_summed_axis(const Tensor& x, const Shape& shape) {
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    if (x.shape().without(axis) == shape) return x.shape().with(axis, 1);
  }
  return shape;
}

// A scatter adds the elements of x that go to one place. Which of them would be lost if it wrote
// them over each other: all but the last of each place. Found by sending them one at a time.
Tensor written_over(Op& scatter, const Tensor& x) {
  const auto size = static_cast<size_t>(x.size());
  std::vector<size_t> place(size);
  for (size_t i = 0; i < size; ++i) {
    std::vector<double> one(size);
    one[i] = 1.0;
    const Tensor alone(Array::of(x.shape(), x.dtype(), one));
    const Numbers y = numbers_of(Tensor(scatter.forward(Inputs({&alone, 1}))));
    place[i] = static_cast<size_t>(std::ranges::find(y, Float128(1)) - y.begin());
  }
  std::vector<double> lost(size);
  for (size_t i = 0; i < size; ++i) {
    lost[i] = std::count(place.begin() + i + 1, place.end(), place[i]) > 0;
  }
  return Tensor(Array::of(x.shape(), DType::boolean, lost));
}

bool is_any(Op&, Operands, const Tensor&) { return true; }

// They take the op as it is given to run(). NOLINTBEGIN(performance-unnecessary-value-param)
constexpr auto kFirstOperand = [](auto, auto x) { return x[0]; };
constexpr auto kSecondOperand = [](auto, auto x) { return x[1]; };

constexpr StepMistake kStepMistakes[] = {
    {MistakeKind::kSign, "is negated", is_any,
     [](auto op, auto x) { return neg(run(std::move(op), std::move(x))); }},
    {MistakeKind::kSign, "adds", [](auto& op, auto, auto&) { return is_one_of(op, {"sub"}); },
     [](auto, auto x) { return x[0] + x[1]; }},
    {MistakeKind::kSign, "subtracts", [](auto& op, auto, auto&) { return is_one_of(op, {"add"}); },
     [](auto, auto x) { return x[0] - x[1]; }},
    {MistakeKind::kFactor, "is doubled", is_any,
     [](auto op, auto x) { return 2.0 * run(std::move(op), std::move(x)); }},
    {MistakeKind::kDroppedTerm, "is its first operand",
     [](auto& op, auto, auto&) {
       return is_one_of(op, {"add", "sub", "mul", "div", "pow", "add_scalar"});
     },
     kFirstOperand},
    {MistakeKind::kDroppedTerm, "is its second operand",
     [](auto& op, auto x, auto&) {
       return is_one_of(op, {"add", "sub", "mul"}) && !same(x[0], x[1]);
     },
     kSecondOperand},
    {MistakeKind::kSwapped, "has its operands swapped",
     [](auto& op, auto x, auto&) {
       return is_one_of(op, {"sub", "div", "pow", "matmul"}) && x.size() == 2 &&
              x[0].shape() == x[1].shape() && !same(x[0], x[1]);
     },
     [](auto op, auto x) {
       std::swap(x[0], x[1]);
       return run(std::move(op), std::move(x));
     }},
    {MistakeKind::kTransposed, "is transposed", [](auto&, auto, auto& y) { return has_matrix(y); },
     [](auto op, auto x) { return transposed(run(std::move(op), std::move(x))); }},
    {MistakeKind::kTransposed, "keeps the order of the axes",
     [](auto& op, auto, auto&) { return is_one_of(op, {"permute"}); },
     [](auto op, auto x) {
       const Tensor y = run(std::move(op), x);
       return reshape(x[0], y.shape().dims());
     }},
    {MistakeKind::kMissingSum, "is the first slice",
     [](auto& op, auto x, auto& y) {
       return is_one_of(op, {"sum", "sum_to"}) && x[0].size() > y.size();
     },
     [](auto op, auto x) {
       const bool drops_axis = op->name() == "sum";
       const Tensor y = run(std::move(op), x);
       const Shape kept = drops_axis ? with_summed_axis(x[0], y.shape()) : y.shape();
       return reshape(first_slice(x[0], kept), y.shape().dims());
     }},
    {MistakeKind::kMissingMask, "masks nothing",
     [](auto& op, auto, auto&) {
       return is_one_of(op, {"masked_fill", "where", "dropout_backward"});
     },
     kFirstOperand},
    {MistakeKind::kMissingScale, "is not scaled",
     [](auto& op, auto, auto&) { return is_one_of(op, {"scale"}); }, kFirstOperand},
    {MistakeKind::kOverwritten, "keeps the last of those for one place",
     [](auto& op, auto x, auto&) {
       if (!is_one_of(op, {"scatter_add", "embedding_backward"})) return false;
       const std::vector<double> lost = written_over(op, x[0]).to_vector();
       return std::ranges::count(lost, 1.0) > 0;
     },
     [](auto op, auto x) {
       x[0] = masked_fill(x[0], written_over(*op, x[0]), 0.0);
       return run(std::move(op), std::move(x));
     }},
};
// NOLINTEND(performance-unnecessary-value-param)

bool is_defined(std::span<const Tensor>, size_t) { return true; }

// The first other gradient of the shape of dx[i]; i where there is none.
size_t twin(std::span<const Tensor> dx, size_t i) {
  for (size_t k = i + 1; k < dx.size(); ++k) {
    if (dx[k].defined() && dx[k].shape() == dx[i].shape() && !same(dx[k], dx[i])) return k;
  }
  return i;
}

constexpr GradientMistake kGradientMistakes[] = {
    {MistakeKind::kSign, "is negated", is_defined, [](auto& dx, size_t i) { dx[i] = neg(dx[i]); }},
    {MistakeKind::kFactor, "is doubled", is_defined,
     [](auto& dx, size_t i) { dx[i] = 2.0 * dx[i]; }},
    {MistakeKind::kDroppedTerm, "is left out", is_defined,
     [](auto& dx, size_t i) { dx[i] = Tensor(); }},
    {MistakeKind::kSwapped, "is swapped with that of another input",
     [](auto dx, size_t i) { return twin(dx, i) != i; },
     [](auto& dx, size_t i) { std::swap(dx[i], dx[twin(dx, i)]); }},
    {MistakeKind::kTransposed, "is transposed", [](auto dx, size_t i) { return has_matrix(dx[i]); },
     [](auto& dx, size_t i) { dx[i] = transposed(dx[i]); }},
    {MistakeKind::kOneElement, "has its largest element a thousandth off", is_defined,
     [](auto& dx, size_t i) {
       const Numbers values = numbers_of(dx[i]);
       const auto largest = std::ranges::max_element(values, {}, float128::abs);
       std::vector<double> factors(values.size(), 1.0);
       factors[largest - values.begin()] = 1.001;
       dx[i] = dx[i] * Tensor(Array::of(dx[i].shape(), dx[i].dtype(), factors));
     }},
};

}  // namespace

std::span<const StepMistake> step_mistakes() { return kStepMistakes; }
std::span<const GradientMistake> gradient_mistakes() { return kGradientMistakes; }

Tensor stale(const Tensor& x) {
  const auto turned = [](auto values) {
    if (values.size() > 1) std::rotate(values.begin(), values.begin() + 1, values.end());
    return values;
  };
  if (!is_floating(x.dtype()) || x.dtype() == DType::bf16) {
    return Tensor(Array::of(x.shape(), x.dtype(), turned(x.to_vector())), x.node());
  }
  Numbers values = turned(numbers_of(x));
  if (values.size() == 1) values[0] *= 2;
  return Tensor(tensor_of(values, x.shape(), x.dtype()).array(), x.node());
}

}  // namespace qkv
