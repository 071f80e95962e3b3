#pragma once

#include "framework/core/array.h"
#include "framework/core/random.h"

namespace qkv::kernels {

// Element i takes the stream's i-th number, whatever thread fills it.
void fill_normal(const RandomStream& stream, double mean, double standard_deviation, Array& y);
void fill_uniform(const RandomStream& stream, double low, double high, Array& y);

// y = x / (1 - p) where the stream keeps the element (with probability 1 - p), else 0; `mask`
// (boolean) says which were kept.
void dropout(const RandomStream& stream, double p, const Array& x, Array& y, Array& mask);
// dx = dy / (1 - p) where mask, else 0
void dropout_backward(const Array& mask, double p, const Array& dy, Array& dx);

}  // namespace qkv::kernels
