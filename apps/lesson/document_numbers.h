#pragma once

#include <cstdint>
#include <string>

#include "framework/graph/tensor.h"

namespace qkv {

// Numbers of a tensor as bytes, little-endian, in base64. Nothing is lost: "f32" where every number
// is one, else "f64"; "i32" of integers; "u8", 0 or 1, of booleans.
struct EncodedNumbers {
  std::string type;
  std::string base64;
};

// Encodes the elements first … first + count - 1.
EncodedNumbers encode_numbers(const Tensor& x, int64_t first, int64_t count);

// The least that all elements take, computed without encoding them.
int64_t least_encoded_bytes(const Tensor& x);

// All of them, rounded.
std::string encode_as_f32(const Tensor& x);

}  // namespace qkv
