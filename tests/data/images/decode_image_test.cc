// PNG and JPEG files, whole and damaged.

#include "data/images/decode_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/data/images/image_files.h"

namespace qkv {
namespace {

using Numbers = std::vector<int>;
using testing::HasSubstr;
using testing::StartsWith;

std::string text_of(const Numbers& numbers) {
  std::string bytes;
  for (const int number : numbers) bytes += static_cast<char>(number);
  return bytes;
}

// Its red, green and blue.
Numbers decoded(const std::string& file) {
  const absl::StatusOr<ColourImage> image = decode_image(file);
  EXPECT_TRUE(image.ok()) << image.status();
  Numbers numbers;
  if (!image.ok()) return numbers;
  for (const char byte : image->bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return numbers;
}

std::string refusal_of(const std::string& file) {
  const absl::StatusOr<ColourImage> image = decode_image(file);
  return image.ok() ? "no error" : std::string(image.status().message());
}

TEST(DecodePngTest, EveryKindBecomesRedGreenAndBlue) {
  const Numbers colours = {1, 2, 3, 40, 50, 60};
  EXPECT_EQ(decoded(png_bytes(text_of(colours), 1, 2)), colours);
  const absl::StatusOr<ColourImage> image = decode_image(png_bytes(text_of(colours), 2, 1));
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->height, 2);
  EXPECT_EQ(image->width, 1);
  EXPECT_EQ(decoded(png_bytes(text_of({7, 200}), 1, 2, PNG_FORMAT_GRAY)),
            (Numbers{7, 7, 7, 200, 200, 200}));
  // one bit a pixel: white, black, white
  EXPECT_EQ(decoded(raw_png(3, 1, 1, 0, text_of({0, 0b10100000}))),
            (Numbers{255, 255, 255, 0, 0, 0, 255, 255, 255}));
  // a palette of two colours, the second one first
  EXPECT_EQ(decoded(raw_png(2, 1, 8, 3, text_of({0, 1, 0}),
                            png_chunk("PLTE", text_of({9, 8, 7, 60, 50, 40})))),
            (Numbers{60, 50, 40, 9, 8, 7}));
  // 16 bits: 0x8000 of 0xFFFF is 128 of 255
  EXPECT_EQ(decoded(raw_png(2, 1, 16, 0, text_of({0, 0x80, 0x00, 0x12, 0x12}))),
            (Numbers{128, 128, 128, 18, 18, 18}));
}

TEST(DecodePngTest, WhatIsTransparentLiesOnWhite) {
  EXPECT_EQ(decoded(png_bytes(text_of({10, 20, 30, 255, 10, 20, 30, 0, 0, 100, 255, 51}), 1, 3,
                              PNG_FORMAT_RGBA)),
            (Numbers{10, 20, 30, 255, 255, 255, 204, 224, 255}));  // a fifth of it on white
  // the second colour of the palette is transparent
  EXPECT_EQ(decoded(raw_png(2, 1, 8, 3, text_of({0, 0, 1}),
                            png_chunk("PLTE", text_of({9, 8, 7, 60, 50, 40})) +
                                png_chunk("tRNS", text_of({255, 0})))),
            (Numbers{9, 8, 7, 255, 255, 255}));
}

TEST(DecodeJpegTest, ColoursAndGreysAreNearThoseOfThePixels) {
  const Numbers colour = {200, 30, 90};
  std::string pixels;
  for (int i = 0; i < 16 * 24; ++i) pixels += text_of(colour);
  for (const int flags : {0, TJFLAG_PROGRESSIVE}) {
    const Numbers numbers = decoded(jpeg_bytes(pixels, 16, 24, TJPF_RGB, flags));
    ASSERT_EQ(numbers.size(), pixels.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_LE(std::abs(numbers[i] - colour[i % 3]), 2) << i;
    }
  }
  for (const int number : decoded(jpeg_bytes(std::string(64, '\x40'), 8, 8, TJPF_GRAY))) {
    ASSERT_LE(std::abs(number - 0x40), 1);
  }
}

TEST(DecodeImageTest, WhatIsNoImageIsToldByItsFirstBytes) {
  EXPECT_EQ(refusal_of(""), "is empty");
  EXPECT_EQ(refusal_of("my notes"), "is neither a PNG nor a JPEG file: it begins with 6D 79 20 6E");
  EXPECT_EQ(refusal_of("a"), "is neither a PNG nor a JPEG file: it begins with 61");
  EXPECT_EQ(refusal_of(jpeg_bytes(std::string(4 * 64, '\x40'), 8, 8, TJPF_CMYK)),
            "is a JPEG in CMYK, the inks of a printer; save it in RGB");
}

TEST(DecodeImageTest, WhatIsCutOffIsNoImageWhereverItEnds) {
  std::string noise;
  for (int i = 0; i < 3 * 20 * 20; ++i) noise += static_cast<char>(i * i * 31 + i * 7);
  const std::string png = png_bytes(noise, 20, 20), jpeg = jpeg_bytes(noise, 20, 20);
  for (const size_t left : {png.size() / 2, png.size() - 20, size_t{40}, size_t{20}, size_t{8}}) {
    EXPECT_THAT(refusal_of(png.substr(0, left)), StartsWith("is a damaged PNG: ")) << left;
  }
  for (const size_t left :
       {jpeg.size() / 2, jpeg.size() - 20, size_t{100}, size_t{20}, size_t{3}}) {
    EXPECT_THAT(refusal_of(jpeg.substr(0, left)), StartsWith("is a damaged JPEG: ")) << left;
  }
  std::string changed = png;
  changed[changed.size() / 2] ^= 1;
  EXPECT_THAT(refusal_of(changed), StartsWith("is a damaged PNG: "));
}

TEST(DecodeImageTest, AHeaderThatAsksForTooMuchIsRefused) {
  EXPECT_EQ(refusal_of(raw_png(100000, 100000, 8, 2, std::string(10, '\0'))),
            "is too large: its header says 100000 x 100000 pixels, but at most 67108864 are read");
  std::string jpeg = jpeg_bytes(std::string(64, '\x40'), 8, 8, TJPF_GRAY);
  const size_t frame = jpeg.find("\xFF\xC0");  // its length, the bits, and both sides
  ASSERT_NE(frame, jpeg.npos);
  jpeg.replace(frame + 5, 4, "\xFD\xE8\xFD\xE8");
  EXPECT_EQ(refusal_of(jpeg),
            "is too large: its header says 65000 x 65000 pixels, but at most 67108864 are read");
  EXPECT_THAT(refusal_of(raw_png(0, 5, 8, 2, "")), StartsWith("is a damaged PNG: "));
  const std::string nine = png_bytes(std::string(27, '\x40'), 3, 3);
  EXPECT_TRUE(decode_image(nine, /*most_pixels=*/9).ok());
  EXPECT_THAT(std::string(decode_image(nine, /*most_pixels=*/8).status().message()),
              HasSubstr("3 x 3 pixels, but at most 8 are read"));
}

// The orientation that a camera has noted.

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
