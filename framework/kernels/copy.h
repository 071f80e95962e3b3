#pragma once

#include <span>

#include "framework/core/array.h"

namespace qkv::kernels {

// These move elements of any type without reading them as numbers.

// Axis k of y is axis axes[k] of x.
void permute(const Array& x, std::span<const int> axes, Array& y);

// y = x repeated along axes where x has size 1 (or no axis) and y has more; aligned at the right.
void broadcast(const Array& x, Array& y);

// y = the part of x that starts at `start` along `axis`, as long as y is there.
void slice(const Array& x, int axis, int64_t start, Array& y);

// The part of y that starts at `start` along `axis` = x; the rest of y stays as it is.
void place(const Array& x, int axis, int64_t start, Array& y);

void zero(Array& y);

}  // namespace qkv::kernels
