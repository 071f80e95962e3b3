#pragma once

#include <cstdint>
#include <string>

#include "data/decode_image.h"
#include "data/options.h"

namespace qkv {

// The images that a model reads.
struct ImageLayout {
  int64_t channels = 1, height = 0, width = 0;  // channels: 1, grey, or 3
  Fit fit = Fit::kCrop;

  size_t bytes() const { return static_cast<size_t>(channels * height * width); }
};

// The image in that layout: [channels, height, width] bytes. Grey is 0.299 R + 0.587 G + 0.114 B
// (ITU-R BT.601). A pixel is the mean of those that it covers, weighted by a triangle that is as
// wide as two of them, or where an image grows as two of the old ones (bilinear, antialiased); it
// is rounded once, and grey before that, too. What `fit` leaves empty is black.
std::string fit_image(const ColourImage& image, const ImageLayout& layout);

}  // namespace qkv
