#include "framework/autograd/hessian.h"

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

void check_vectors(std::span<const Tensor> inputs, std::span<const Tensor> vectors) {
  if (vectors.size() != inputs.size()) {
    fail(absl::StrCat("hessian_vector_product: ", inputs.size(), " inputs and ", vectors.size(),
                      " vectors"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor &x = inputs[i], &v = vectors[i];
    if (!x.defined()) fail(absl::StrCat("hessian_vector_product: input ", i, " is undefined"));
    if (!v.defined() || (v.shape() == x.shape() && v.dtype() == x.dtype())) continue;
    fail(absl::StrCat("hessian_vector_product: vector ", i, " ", v.describe(),
                      " differs in shape or dtype from its input ", x.describe()));
  }
}

}  // namespace

std::vector<Tensor> hessian_vector_product(const TensorFunction& f, std::span<const Tensor> inputs,
                                           std::span<const Tensor> vectors) {
  check_vectors(inputs, vectors);
  const RecordGradients record(true);
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) {
    leaves.push_back(is_floating(x.dtype()) ? parameter(x.array()) : x);
  }
  const Tensor y = f(leaves);
  if (!y.defined() || y.size() != 1) {
    fail(absl::StrCat("hessian_vector_product: needs a scalar function, not one that gives ",
                      y.describe()));
  }
  Tensor slope;  // <gradient, v>
  if (y.requires_grad()) {
    const Gradients gradients = backward(y, {.create_graph = true});
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!vectors[i].defined() || !gradients.contains(leaves[i])) continue;
      const Tensor term = sum(gradients[leaves[i]] * vectors[i].detached());
      slope = slope.defined() ? slope + term : term;
    }
  }
  Gradients products;
  if (slope.requires_grad()) products = backward(slope);
  std::vector<Tensor> result;
  for (const Tensor& x : leaves) {
    if (!is_floating(x.dtype())) {
      result.emplace_back();
    } else {
      result.push_back(products.contains(x) ? products[x] : zeros(x.shape(), x.dtype()));
    }
  }
  return result;
}

}  // namespace qkv
