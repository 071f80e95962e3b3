#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qkv {

// How images are drawn in a terminal: with characters that are darker or brighter, or with colours,
// of which terminals know 256 or all.
enum class Colours { kNone, k256, kAll };

// Rows of numbers in 0 … 1.
struct GreyImage {
  int64_t height = 0, width = 0;
  std::span<const float> pixels;
};

// Lines that show the image with a character for two pixels, one above the other: a character is
// about twice as high as wide. An image of more than `max_width` pixels is shown smaller.
std::vector<std::string> draw_image(const GreyImage& image, Colours colours, int64_t max_width);

// How many characters wide those lines are.
int64_t drawn_width(const GreyImage& image, int64_t max_width);

}  // namespace qkv
