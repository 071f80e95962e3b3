#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/graph/saved.h"
#include "framework/kernels/elementwise/vector_math.h"
#include "framework/ops/ops.h"

namespace qkv {

// f'(x), in ops: it can be differentiated itself.
using ElementDerivative = std::function<Tensor(const Tensor& x)>;

//   y_i = f(x_i)
//   dx = f'(x) dy
template <class F>
class Elementwise final : public Op {
 public:
  Elementwise(std::string name, F f, ElementDerivative derivative)
      : name_(std::move(name)), f_(std::move(f)), derivative_(std::move(derivative)) {}
  std::string_view name() const override { return name_; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    dispatch_floating(name_, y.dtype(), [&]<class T>(T) {
      const T* in = x[0].data<T>();
      std::transform(in, in + y.size(), y.mutable_data<T>(),
                     [&](T number) { return static_cast<T>(f_(number)); });
    });
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {derivative_(saved.input(0)) * dy};
  }

 private:
  std::string name_;
  F f_;
  ElementDerivative derivative_;
};

// An op of your own, of each number by itself. f takes a float, a double and a Float128 alike, so
// that a gradient check can run it in f128; kernels::math has exp, log, sqrt, tanh, erf and pow of
// each:
//
//   const auto softplus = [](auto x) { return math::log(1 + math::exp(x)); };
//   y = elementwise("softplus", x, softplus, [](const Tensor& x) { return sigmoid(x); });
template <class F>
Tensor elementwise(std::string name, const Tensor& x, F f, ElementDerivative derivative) {
  return apply<Elementwise<F>>({x}, std::move(name), std::move(f), std::move(derivative));
}

}  // namespace qkv
