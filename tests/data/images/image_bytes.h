#pragma once

#include <png.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace qkv {

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

}  // namespace qkv
