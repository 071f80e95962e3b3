#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// Over the last axis of x [rows, C], with weight and bias [C]; mean and rstd [rows].
//   y = (x - mean) rstd weight + bias,  rstd = 1 / sqrt(var + epsilon)
// Ba, Kiros and Hinton 2016.
void layer_norm(const Array& x, const Array& weight, const Array& bias, double epsilon, Array& y,
                Array& mean, Array& rstd);
//   x̂ = (x - mean) rstd;  dweight = sum_rows(dy x̂);  dbias = sum_rows(dy)
//   dx = rstd (dy weight - mean_C(dy weight) - x̂ mean_C(dy weight x̂))
void layer_norm_backward(const Array& x, const Array& weight, const Array& mean, const Array& rstd,
                         const Array& dy, Array& dx, Array& dweight, Array& dbias);

//   y = x rstd weight,  rstd = 1 / sqrt(mean_C(x²) + epsilon)               Zhang and Sennrich 2019
void rms_norm(const Array& x, const Array& weight, double epsilon, Array& y, Array& rstd);
//   dweight = sum_rows(dy x rstd);  dx = rstd (dy weight - x rstd² mean_C(dy weight x))
void rms_norm_backward(const Array& x, const Array& weight, const Array& rstd, const Array& dy,
                       Array& dx, Array& dweight);

}  // namespace qkv::kernels
