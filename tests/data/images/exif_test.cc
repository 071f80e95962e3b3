// The orientation that a camera has noted.

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "data/images/decode_image.h"
#include "tests/data/images/image_bytes.h"
#include "tests/data/images/jpeg_bytes.h"
#include "tests/data/images/raw_png.h"

namespace qkv {
namespace {

std::string number(uint64_t value, int bytes, bool is_big_endian) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  if (is_big_endian) text = std::string(text.rbegin(), text.rend());
  return text;
}

// EXIF data (TIFF 6.0, section 2) with another entry before that of the orientation.
std::string exif(uint64_t orientation, bool big, uint64_t type = 3) {
  const auto entry = [&](uint64_t tag, uint64_t kind, uint64_t value) {
    const int size = kind == 3 ? 2 : 4;
    return number(tag, 2, big) + number(kind, 2, big) + number(1, 4, big) +
           number(value, size, big) + std::string(static_cast<size_t>(4 - size), '\0');
  };
  return (big ? "MM" : "II") + number(42, 2, big) + number(8, 4, big) + number(2, 2, big) +
         entry(0x0100, 4, 3) + entry(0x0112, type, orientation) + number(0, 4, big);
}

std::string png_with(const std::string& png, const std::string& data) {
  const size_t after_header = 8 + 25;
  return png.substr(0, after_header) + png_chunk("eXIf", data) + png.substr(after_header);
}

std::string jpeg_with(const std::string& jpeg, const std::string& data) {
  const std::string marked = std::string("Exif\0\0", 6) + data;
  return jpeg.substr(0, 2) + "\xFF\xE1" + number(marked.size() + 2, 2, true) + marked +
         jpeg.substr(2);
}

// EXIF 2.3, 4.6.4: "the 0th row is at the visual … of the image, the 0th column at the visual …".
struct Meaning {
  char row, column;  // top, bottom, left or right
};
constexpr Meaning kMeanings[] = {{'t', 'l'}, {'t', 'r'}, {'b', 'r'}, {'b', 'l'},
                                 {'l', 't'}, {'r', 't'}, {'r', 'b'}, {'l', 'b'}};

void expect_turned(const std::string& file, const ColourImage& stored, uint64_t orientation) {
  SCOPED_TRACE(absl::StrCat("orientation ", orientation));
  const absl::StatusOr<ColourImage> seen = decode_image(file);
  ASSERT_TRUE(seen.ok()) << seen.status();
  const Meaning meaning = kMeanings[orientation - 1];
  const bool lies = meaning.row == 'l' || meaning.row == 'r';
  ASSERT_EQ(seen->height, lies ? stored.width : stored.height);
  ASSERT_EQ(seen->width, lies ? stored.height : stored.width);
  for (int64_t row = 0; row < stored.height; ++row) {
    for (int64_t column = 0; column < stored.width; ++column) {
      int64_t x = 0, y = 0;
      for (const auto& [edge, distance] :
           {std::pair(meaning.row, row), std::pair(meaning.column, column)}) {
        if (edge == 't') y = distance;
        if (edge == 'b') y = seen->height - 1 - distance;
        if (edge == 'l') x = distance;
        if (edge == 'r') x = seen->width - 1 - distance;
      }
      EXPECT_EQ(seen->bytes.substr(static_cast<size_t>(3 * (y * seen->width + x)), 3),
                stored.bytes.substr(static_cast<size_t>(3 * (row * stored.width + column)), 3));
    }
  }
}

std::string some_pixels(int64_t height, int64_t width) {
  std::string pixels;
  for (int64_t i = 0; i < 3 * height * width; ++i) pixels += static_cast<char>(i * 37 % 251);
  return pixels;
}

TEST(ExifTest, AnImageIsTurnedAsTheCameraHasNoted) {
  const std::string png = png_bytes(some_pixels(2, 3), 2, 3);
  const std::string jpeg = jpeg_bytes(some_pixels(9, 20), 9, 20);
  for (uint64_t orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big : {false, true}) {
      expect_turned(png_with(png, exif(orientation, big)), *decode_image(png), orientation);
      expect_turned(jpeg_with(jpeg, exif(orientation, big)), *decode_image(jpeg), orientation);
      expect_turned(jpeg_with(jpeg, exif(orientation, big, 4)), *decode_image(jpeg), orientation);
    }
  }
}

TEST(ExifTest, WhatIsBrokenTurnsNothing) {
  const std::string png = png_bytes(some_pixels(2, 3), 2, 3);
  const std::string jpeg = jpeg_bytes(some_pixels(9, 20), 9, 20), whole = exif(6, true);
  for (const uint64_t orientation : {0, 9, 200}) {
    expect_turned(jpeg_with(jpeg, exif(orientation, true)), *decode_image(jpeg), 1);
  }
  for (size_t length = 0; length + 4 < whole.size(); ++length) {
    expect_turned(jpeg_with(jpeg, whole.substr(0, length)), *decode_image(jpeg), 1);
    expect_turned(png_with(png, whole.substr(0, length)), *decode_image(png), 1);
  }
}

}  // namespace
}  // namespace qkv
