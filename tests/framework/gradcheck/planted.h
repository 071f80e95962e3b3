#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "framework/gradcheck/gradcheck.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/graph/saved.h"

namespace qkv {

using PlantedBackward = std::function<Tensor(const Tensor& x, const Tensor& dy)>;

// y = f(x) with a backward that may be wrong.
class Planted final : public Op {
 public:
  Planted(TensorFunction f, PlantedBackward dx) : f_(std::move(f)), dx_(std::move(dx)) {}
  std::string_view name() const override { return "planted"; }

  Array forward(const Inputs& x) override {
    const NoGrad no_grad;
    const Tensor input(x[0]);
    return f_({&input, 1}).array();
  }
  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {dx_(saved.input(0), dy)};
  }

 private:
  TensorFunction f_;
  PlantedBackward dx_;
};

inline GradcheckReport check_planted(const TensorFunction& f, const PlantedBackward& dx,
                                     const Tensor& x, const GradcheckOptions& options = {}) {
  const TensorFunction planted = [&](std::span<const Tensor> inputs) {
    return apply<Planted>({inputs[0]}, f, dx);
  };
  return gradcheck(planted, {&x, 1}, options);
}

}  // namespace qkv
