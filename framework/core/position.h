#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/shape.h"

namespace qkv {

// The index of an element given by its place in row-major order.
std::vector<int64_t> index_of(const Shape& shape, int64_t element);
std::string position(const Shape& shape, int64_t element);  // "[1, 0, 3]"

}  // namespace qkv
