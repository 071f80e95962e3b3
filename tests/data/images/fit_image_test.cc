// Images that get the size that a model reads, beside numbers that fit_image_reference.py has
// computed in fractions.

#include <gtest/gtest.h>

#include <vector>

#include "data/images/decode_image.h"

namespace qkv {
namespace {

// That of the script.
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

TEST(FitImageTest, EveryPixelIsThatOfTheDefinition) {
  struct Case {
    Fit fit;
    int64_t height, width, size, channels;
    std::vector<int> expected;
  };
  const std::vector<Case> cases = {
      {Fit::kCrop,
       7,
       11,
       4,
       1,
       {131, 142, 125, 109, 130, 131, 137, 131, 138, 134, 118, 126, 133, 136, 139, 123}},
      {Fit::kCrop, 11, 7, 4, 3, {124, 120, 145, 113, 114, 134, 144, 128, 136, 139, 148, 159,
                                 100, 121, 121, 116, 140, 131, 131, 158, 143, 139, 134, 125,
                                 114, 124, 133, 137, 130, 128, 136, 142, 140, 137, 121, 109,
                                 157, 141, 125, 114, 127, 126, 123, 126, 131, 133, 126, 94}},
      {Fit::kPad, 7, 12, 6, 1, {0,   0,   0,   0,   0,   0,   115, 129, 141, 120, 116, 131,
                                133, 133, 132, 132, 132, 108, 132, 139, 130, 117, 136, 132,
                                131, 133, 136, 134, 124, 130, 0,   0,   0,   0,   0,   0}},
      {Fit::kPad, 11, 4, 5, 1, {0, 120, 125, 0,   0,   0, 129, 139, 0,   0,   0, 135, 134,
                                0, 0,   0,   119, 127, 0, 0,   0,   123, 129, 0, 0}},
      {Fit::kStretch,
       5,
       9,
       4,
       1,
       {116, 127, 146, 113, 132, 131, 126, 119, 128, 141, 132, 133, 126, 137, 120, 109}},
      {Fit::kCrop, 2, 3, 5, 1, {49,  83,  117, 146, 169, 52,  87,  121, 147, 165, 67,  103, 138,
                                154, 151, 82,  119, 155, 161, 136, 86,  123, 160, 163, 132}},
      {Fit::kStretch, 3, 8, 5, 1, {80,  155, 114, 166, 131, 96,  142, 127, 143, 122, 120, 122, 146,
                                   107, 108, 137, 122, 140, 130, 124, 148, 122, 136, 145, 134}},
      {Fit::kCrop, 5, 5, 5, 1, {43,  134, 196, 60, 151, 80,  178, 97,  118, 187, 117, 193, 71,
                                176, 102, 154, 87, 122, 205, 90,  191, 54,  173, 113, 155}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << name_of(c.fit) << " " << c.height << " x " << c.width);
    EXPECT_EQ(numbers_of(fit_image(image_of_formula(c.height, c.width),
                                   {c.channels, c.size, c.size, c.fit})),
              c.expected);
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
