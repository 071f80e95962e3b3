#pragma once

#include <vector>

#include "framework/graph/tensor.h"

// The little linear algebra that labs need of small matrices in f64. It is written out: a library
// for it would be one more package to install before a first model can be trained.
namespace qkv {

// The eigenvalues of a symmetric matrix, the largest first.
std::vector<double> eigenvalues_of(const Tensor& symmetric);

// The rank of a square matrix; what is below 1e-10 of its largest number is rounding.
double rank_of(const Tensor& matrix);

// The two directions in which rows [N, C] differ most, if their mean is 0.   -> [C, 2]
Tensor principal_axes(const Tensor& centred);

}  // namespace qkv
