#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "data/data_options.h"
#include "framework/core/status.h"

namespace qkv {

// An image in colour as a file has it: [height, width, 3] bytes, red, green and blue.
struct ColourImage {
  int64_t height = 0, width = 0;
  std::string bytes;
};

// More than any camera makes; decoded, they take 256 MiB.
inline constexpr int64_t kMostPixels = 1 << 26;

// The image of a PNG or JPEG file, told apart by their first bytes. Colours are those of sRGB, with
// 8 bits; transparent pixels lie on white; an image is turned as the camera has noted (EXIF's
// orientation, as exif_transpose() of Pillow does). An error says what is wrong with the file: "is
// a damaged PNG: …". Memory is asked for only after the header's size is known to be at most
// `most_pixels`; while it is made, a pixel takes kBytesOfPixel at most. Before, `begin` gets the
// number of pixels.
inline constexpr uint64_t kBytesOfPixel = 8;
using BeginPixels = std::function<absl::Status(int64_t pixels)>;
absl::StatusOr<ColourImage> decode_image(std::string_view file, int64_t most_pixels = kMostPixels,
                                         const BeginPixels& begin = nullptr);

bool is_image(std::string_view begin);  // of a file: PNG or JPEG

// The images that a model reads.
struct ImageLayout {
  int64_t channels = 1, height = 0, width = 0;  // channels: 1, grey, or 3
  Fit fit = Fit::kCrop;

  size_t bytes() const { return static_cast<size_t>(channels * height * width); }
};

// The image in that layout: [channels, height, width] bytes. Grey is 0.299 R + 0.587 G + 0.114 B
// (ITU-R BT.601). A pixel is the mean of those that it covers, weighted by a triangle that is as
// wide as two of them, or where an image grows as two of the old ones (bilinear, antialiased); it
// is rounded once, and grey before that, too. Pixels that `fit` leaves empty are black.
std::string fit_image(const ColourImage& image, const ImageLayout& layout);

}  // namespace qkv
