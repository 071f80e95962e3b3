#pragma once

#include <string>
#include <vector>

#include "framework/core/random.h"
#include "framework/graph/tensor.h"
#include "lessons/report/figure.h"

// What many labs do with tensors in f64.
namespace qkv {

Tensor constant_f64(const Shape& shape, const std::vector<double>& numbers);
Tensor random_normal(RandomStream random, const Shape& shape);  // mean 0, variance 1
Tensor as_parameter(const Tensor& x);                           // the same numbers, with a gradient

double size_of(const Tensor& x);     // the root of the sum of squares
double largest_of(const Tensor& x);  // of the magnitudes; a NaN, where there is one
double count_not_zero(const Tensor& x);
double largest_difference(const Tensor& a, const Tensor& b);  // of the magnitudes

// The longest chain of recorded ops, from a leaf to y, of which each reads what the one before it
// made: how many steps have to be taken one after the other.
double longest_chain(const Tensor& y);

// y over first, first + 1, …: losses by step, gradients by layer.
Series numbered_series(std::string name, std::vector<double> y, int64_t first = 1);
HeatMap heat_map_of(const std::string& title, const Tensor& matrix);  // [rows, columns]

}  // namespace qkv
