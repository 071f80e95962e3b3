// Files of images, made by those who define the formats, or by their letter.
#pragma once

#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace qkv {

inline std::string four_bytes(uint64_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xFF);
  return bytes;
}

// A file in MNIST's format.
inline std::string idx_bytes(const std::vector<uint32_t>& sizes, const std::string& numbers,
                             char type = 0x08) {
  std::string bytes = {0, 0, type, static_cast<char>(sizes.size())};
  for (const uint32_t size : sizes) bytes += four_bytes(size);
  return bytes + numbers;
}

inline std::string gzipped(const std::string& bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A PNG file of that format of libpng's, of rows of pixels.
inline std::string png_bytes(const std::string& pixels, int64_t height, int64_t width,
                             uint32_t format = PNG_FORMAT_RGB) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<uint32_t>(height);
  image.width = static_cast<uint32_t>(width);
  image.format = format;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (PNG_IMAGE_SIZE(image) != pixels.size() ||
      png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr) == 0) {
    throw std::runtime_error("these pixels cannot become a PNG");
  }
  bytes.resize(size);
  return bytes;
}

inline std::string png_chunk(const std::string& name, const std::string& data) {
  const std::string named = name + data;
  const uLong sum =
      crc32(0, reinterpret_cast<const Bytef*>(named.data()), static_cast<uInt>(named.size()));
  return four_bytes(data.size()) + named + four_bytes(sum);
}

// A PNG file by the letter of the format: `rows` are its bytes, a filter's number (0: none) before
// each row; `more` are chunks before the pixels.
inline std::string raw_png(uint32_t width, uint32_t height, char bits, char colour_type,
                           const std::string& rows, const std::string& more = "") {
  uLongf size = compressBound(rows.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(rows.data()), rows.size());
  packed.resize(size);
  const std::string header =
      four_bytes(width) + four_bytes(height) + bits + colour_type + std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + more + png_chunk("IDAT", packed) +
         png_chunk("IEND", "");
}

// A JPEG file of rows of pixels: TJPF_RGB, TJPF_GRAY or TJPF_CMYK, with as many numbers in each.
inline std::string jpeg_bytes(const std::string& pixels, int64_t height, int64_t width,
                              TJPF format = TJPF_RGB, int flags = 0) {
  const tjhandle writer = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): that of the function
  const int failed = tjCompress2(writer, reinterpret_cast<const unsigned char*>(pixels.data()),
                                 static_cast<int>(width), 0, static_cast<int>(height), format,
                                 &bytes, &size, format == TJPF_GRAY ? TJSAMP_GRAY : TJSAMP_444,
                                 /*jpegQual=*/95, flags);
  std::string file(reinterpret_cast<const char*>(bytes), failed == 0 ? size : 0);
  tjFree(bytes);
  tjDestroy(writer);
  if (failed != 0) throw std::runtime_error("these pixels cannot become a JPEG");
  return file;
}

}  // namespace qkv
