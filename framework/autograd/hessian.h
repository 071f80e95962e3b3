#pragma once

#include <span>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/graph/tensor.h"

namespace qkv {

// H v, where H holds the second derivatives of a scalar function by all elements of all its
// floating inputs: one product costs a few evaluations of f, and H is never formed. It is the
// gradient of <gradient of f, v> (Pearlmutter, "Fast exact multiplication by the Hessian", 1994),
// in the number type of the inputs.
//
// `vectors` has a tensor for each input, of its shape and dtype, or an undefined one for zeros. The
// result has one for each input: zeros where f is linear in it or does not depend on it; undefined
// for masks and indices. Throws Error when f has more than one element, or shapes clash.
std::vector<Tensor> hessian_vector_product(const TensorFunction& f, std::span<const Tensor> inputs,
                                           std::span<const Tensor> vectors);

}  // namespace qkv
