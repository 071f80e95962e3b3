#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/graph/saved.h"
#include "framework/ops/ops.h"

namespace qkv {

using Scalars = std::function<Float128(Float128)>;

// y = f(x) for each element, with a gradient that may be wrong. In f128 it computes in f128; where
// it is narrow it reads its numbers as doubles, so that it is checked in f64.
class ScalarFunction final : public Op {
 public:
  ScalarFunction(Scalars f, Scalars derivative, bool is_narrow)
      : f_(std::move(f)), derivative_(std::move(derivative)), is_narrow_(is_narrow) {}
  std::string_view name() const override { return "scalar_function"; }

  Array forward(const Inputs& x) override { return mapped(f_, x[0]); }
  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const NoGrad no_grad;
    return {Tensor(mapped(derivative_, saved.input(0).array())) * dy};
  }

 private:
  Array mapped(const Scalars& f, const Array& x) const {
    Array y(x.shape(), x.dtype());
    if (x.dtype() == DType::f128 && !is_narrow_) {
      const auto* from = x.data<Float128>();
      for (int64_t i = 0; i < x.size(); ++i) y.mutable_data<Float128>()[i] = f(from[i]);
    } else {
      const std::vector<double> from = x.to_vector();
      std::vector<double> to;
      for (const double number : from) to.push_back(static_cast<double>(f(number)));
      return Array::of(x.shape(), x.dtype(), to);
    }
    return y;
  }

  Scalars f_, derivative_;
  bool is_narrow_;
};

inline Tensor apply_scalars(const Tensor& x, const Scalars& f, const Scalars& derivative,
                            bool is_narrow) {
  return apply<ScalarFunction>({x}, f, derivative, is_narrow);
}

inline GradcheckReport check_scalars(const Tensor& x, const Scalars& f, const Scalars& derivative,
                                     bool is_narrow, uint64_t seed) {
  return gradcheck([&](TensorSpan in) { return apply_scalars(in[0], f, derivative, is_narrow); },
                   {&x, 1}, {.seed = seed});
}

// x, with a gradient that is multiplied.
inline Tensor with_factor(const Tensor& x, double factor) {
  return apply_scalars(
      x, [](Float128 number) { return number; }, [=](Float128) { return factor; }, true);
}

}  // namespace qkv
