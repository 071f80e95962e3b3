#include "framework/gradcheck/probe.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/op.h"

namespace qkv {

Tensor random_like(const Tensor& x, RandomStream stream) {
  std::vector<double> values(static_cast<size_t>(x.size()));
  std::ranges::generate(values, [&] { return stream.normal(); });
  return Tensor(Array::of(x.shape(), x.dtype(), values));
}

Probe::Probe(const TensorFunction& f, std::span<const Tensor> inputs) : f_(f) {
  for (const Tensor& x : inputs) points_.push_back(x.detached());
  value_ = evaluate(points_);
  if (!value_.defined()) fail("gradcheck: the function gives an undefined tensor");
  if (value_.dtype() != DType::f64) {
    fail(
        absl::StrCat("gradcheck: needs f64: the output is ", value_.describe(),
                     ", which holds too few digits to tell a wrong derivative from a rounded one"));
  }
  const Array again = evaluate(points_);
  if (again.shape() != value_.shape() || again.dtype() != value_.dtype() ||
      std::memcmp(again.raw(), value_.raw(), value_.bytes()) != 0) {
    fail("gradcheck: the function gives different numbers each time it is called");
  }
}

Array Probe::evaluate(std::span<const Tensor> points) const {
  const NoGrad no_grad;
  return f_(points).array();
}

ProbeLine::ProbeLine(const Probe& probe, size_t input)
    : probe_(probe), points_(probe.points_), original_(points_[input].array()) {
  // Threads that share a small array spend their time on its reference count.
  constexpr int64_t kSmall = 4096;
  for (Tensor& x : points_) {
    if (x.size() <= kSmall) x = Tensor(x.array().copy());
  }
  moved_ = original_.copy();
  points_[input] = Tensor(moved_);
}

double ProbeLine::scale_of(int64_t element) const {
  const double x = std::abs(x_of(element));
  return std::isfinite(x) && x > 1.0 ? std::exp2(std::ceil(std::log2(x))) : 1.0;
}

Array ProbeLine::along_element(int64_t element, double& t) {
  double& x = moved_.mutable_data<double>()[element];
  const double at = x;
  x = at + t;
  t = x - at;
  Array y = probe_.evaluate(points_);
  if (y.raw() == moved_.raw()) y = y.copy();  // f gave its input back
  x = at;
  return y;
}

Array ProbeLine::along(std::span<const double> direction, double t) {
  const double* x = original_.data<double>();
  double* moved = moved_.mutable_data<double>();
  for (size_t i = 0; i < direction.size(); ++i) moved[i] = x[i] + t * direction[i];
  Array y = probe_.evaluate(points_);
  if (y.raw() == moved_.raw()) y = y.copy();
  std::copy_n(x, direction.size(), moved);
  return y;
}

}  // namespace qkv
