#pragma once

#include <turbojpeg.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace qkv {

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
