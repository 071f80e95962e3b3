// Images that get the size that a model reads, beside the definition.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/images/decode_image.h"

namespace qkv {
namespace {

ColourImage image_of_formula(int64_t height, int64_t width) {
  ColourImage image{height, width, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        image.bytes += static_cast<char>((37 * y + 91 * x + 53 * c + 7 * x * y) % 256);
      }
    }
  }
  return image;
}

std::vector<int> numbers_of(const std::string& bytes) {
  std::vector<int> numbers;
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return numbers;
}

// Halves are rounded up, also where a sum of doubles is a little less.
int rounded(double x) { return static_cast<int>(x + 0.5 + 1e-9); }

// What old pixels weigh in pixel i of the new ones: a triangle around its middle.
std::vector<double> weights_of(int64_t before, int64_t after, int64_t i) {
  const double scale = static_cast<double>(before) / static_cast<double>(after);
  const double reach = std::max(scale, 1.0), middle = (static_cast<double>(i) + 0.5) * scale;
  std::vector<double> weights;
  double sum = 0;
  for (int64_t j = 0; j < before; ++j) {
    const double distance = std::abs(static_cast<double>(j) + 0.5 - middle);
    sum += weights.emplace_back(std::max(0.0, 1 - distance / reach));
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Pixel by pixel, without rounding on the way.
std::vector<int> by_definition(const ColourImage& image, Fit fit, int64_t size, int64_t channels) {
  const std::vector<int> bytes = numbers_of(image.bytes);
  const auto value = [&](int64_t y, int64_t x, int64_t channel) {
    const int* pixel = &bytes[static_cast<size_t>(3 * (y * image.width + x))];
    if (channels == 3) return pixel[channel];
    return rounded((19595 * pixel[0] + 38470 * pixel[1] + 7471 * pixel[2]) / 65536.0);
  };
  const auto [shorter, longer] = std::minmax(image.height, image.width);
  const auto side = static_cast<double>(fit == Fit::kCrop ? shorter : longer);
  const auto scaled = [&](int64_t length) {
    return fit == Fit::kStretch ? size : rounded(static_cast<double>(length * size) / side);
  };
  const int64_t height = scaled(image.height), width = scaled(image.width);
  const int64_t down = (height - size) / 2, across = (width - size) / 2;
  std::vector<int> numbers;
  for (int64_t i = 0; i < channels * size * size; ++i) {
    const int64_t row = down + i / size % size, column = across + i % size;
    double sum = 0;
    if (row >= 0 && row < height && column >= 0 && column < width) {
      const std::vector<double> by_row = weights_of(image.height, height, row);
      const std::vector<double> by_column = weights_of(image.width, width, column);
      for (int64_t y = 0; y < image.height; ++y) {
        for (int64_t x = 0; x < image.width; ++x) {
          sum += by_row[static_cast<size_t>(y)] * by_column[static_cast<size_t>(x)] *
                 value(y, x, i / (size * size));
        }
      }
    }
    numbers.push_back(rounded(sum));
  }
  return numbers;
}

TEST(FitImageTest, EveryPixelIsThatOfTheDefinition) {
  struct Case {
    Fit fit;
    int64_t height, width, size, channels;
  };
  for (const auto& [fit, height, width, size, channels] :
       {Case{Fit::kCrop, 7, 11, 4, 1}, Case{Fit::kCrop, 11, 7, 4, 3}, Case{Fit::kPad, 7, 12, 6, 1},
        Case{Fit::kPad, 11, 4, 5, 1}, Case{Fit::kStretch, 5, 9, 4, 1}, Case{Fit::kCrop, 2, 3, 5, 1},
        Case{Fit::kStretch, 3, 8, 5, 1}, Case{Fit::kCrop, 5, 5, 5, 1}}) {
    SCOPED_TRACE(testing::Message() << name_of(fit) << " " << height << " x " << width);
    const ColourImage image = image_of_formula(height, width);
    EXPECT_EQ(numbers_of(fit_image(image, {channels, size, size, fit})),
              by_definition(image, fit, size, channels));
  }
}

TEST(FitImageTest, AnImageOfOneColourStaysSoWhateverItsSize) {
  for (const auto& [height, width] :
       {std::pair<int64_t, int64_t>{1, 1}, {1, 1000}, {977, 3}, {64, 65}}) {
    const ColourImage image{height, width,
                            std::string(static_cast<size_t>(3 * height * width), '\xC8')};
    for (const Fit fit : {Fit::kCrop, Fit::kStretch}) {
      EXPECT_EQ(fit_image(image, {3, 16, 16, fit}), std::string(3 * 16 * 16, '\xC8'))
          << height << " x " << width;
    }
    // Beside what is padded there is nothing else, and at least one pixel of the image.
    const std::string padded = fit_image(image, {1, 16, 16, Fit::kPad});
    EXPECT_NE(padded.find('\xC8'), padded.npos);
    EXPECT_EQ(padded.find_first_not_of(std::string("\xC8\0", 2)), padded.npos);
  }
}

}  // namespace
}  // namespace qkv
