#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "apps/lesson/lesson.h"
#include "apps/lesson/tape.h"
#include "framework/graph/tensor.h"

namespace qkv {

// As docs/file-formats.md has it: the tape, and the numbers that it began with and came to.
//   most_bytes: of the document. Numbers that do not fit are left out or cut to their first rows;
//   parameters and inputs are always whole. 0: no limit.
std::string lesson_document(const Recording& recording, const Lesson& lesson, int64_t most_bytes);

// The tapes of the same model with one setting changed, and only those numbers that begin them and
// that the lesson's own document does not have; as many of them as have at most `most_bytes` when
// packed, in the order of the settings. `part`: that of its recording.
std::string variants_document(const Lesson& lesson, const std::string& part, int64_t most_bytes);

// All of a recording; or where that does not fit, the block of that layer of attention, with the
// attention weights of all layers; or without them; or the layer alone, with its maps.
Recording part_that_fits(Recording whole, const std::string& layer,
                         const std::function<bool(const Recording&)>& fits);

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
