#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

namespace qkv {

inline std::string four_bytes(uint64_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xFF);
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

}  // namespace qkv
