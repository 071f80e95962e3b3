#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace qkv {

// An image in colour as a file has it: [height, width, 3] bytes, red, green and blue.
struct ColourImage {
  int64_t height = 0, width = 0;
  std::string bytes;
};

// More than any camera makes; decoded, so many pixels take 256 MiB.
inline constexpr int64_t kMostPixels = 1 << 26;

// The image of a PNG or JPEG file, told apart by their first bytes. Colours are those of sRGB, with
// 8 bits; what is transparent lies on white; the orientation that a camera has noted (EXIF) is not
// applied. An error says what is wrong with the file: "is a damaged PNG: …". Memory is asked for
// only after the header's size is known to be at most `most_pixels`.
absl::StatusOr<ColourImage> decode_image(std::string_view file, int64_t most_pixels = kMostPixels);

}  // namespace qkv
