#include "data/draw_image.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace qkv {
namespace {

// How many pixels, in each direction, become one.
int64_t shrink_factor(const GreyImage& image, int64_t max_width) {
  return (image.width + max_width - 1) / max_width;
}

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The mean of the pixels that become pixel (y, x); black beyond the image.
double pixel_at(const GreyImage& image, int64_t factor, int64_t y, int64_t x) {
  const int64_t last_y = std::min(image.height, (y + 1) * factor);
  const int64_t last_x = std::min(image.width, (x + 1) * factor);
  double sum = 0;
  int64_t count = 0;
  for (int64_t row = y * factor; row < last_y; ++row) {
    for (int64_t column = x * factor; column < last_x; ++column, ++count) {
      sum += image.pixels[static_cast<size_t>(row * image.width + column)];
    }
  }
  return count == 0 ? 0 : std::clamp(sum / static_cast<double>(count), 0.0, 1.0);
}

// One of `steps` steps from black to white.
int64_t level(double brightness, int64_t steps) {
  return std::lround(brightness * static_cast<double>(steps - 1));
}

std::string grey(double brightness, Colours colours) {
  if (colours == Colours::k256) {
    constexpr int64_t kBlackest = 232;  // of 24 greys
    return absl::StrCat("5;", kBlackest + level(brightness, 24));
  }
  const int64_t part = level(brightness, 256);
  return absl::StrCat("2;", part, ";", part, ";", part);
}

std::string draw_pair(double upper, double lower, Colours colours) {
  if (colours == Colours::kNone) {
    constexpr std::string_view kRamp = " .:-=+*#%@";
    const int64_t step = level((upper + lower) / 2, std::ssize(kRamp));
    return std::string(1, kRamp[static_cast<size_t>(step)]);
  }
  return absl::StrCat("\x1b[38;", grey(upper, colours), ";48;", grey(lower, colours), "m▀");
}

}  // namespace

int64_t drawn_width(const GreyImage& image, int64_t max_width) {
  return divided_up(image.width, shrink_factor(image, max_width));
}

std::vector<std::string> draw_image(const GreyImage& image, Colours colours, int64_t max_width) {
  const int64_t factor = shrink_factor(image, max_width);
  const int64_t height = divided_up(image.height, factor), width = divided_up(image.width, factor);
  std::vector<std::string> lines;
  for (int64_t y = 0; y < height; y += 2) {
    std::string line;
    for (int64_t x = 0; x < width; ++x) {
      line += draw_pair(pixel_at(image, factor, y, x), pixel_at(image, factor, y + 1, x), colours);
    }
    if (colours != Colours::kNone) line += "\x1b[0m";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace qkv
