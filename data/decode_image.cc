#include "data/decode_image.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace qkv {
namespace {

constexpr std::string_view kPngBegin = "\x89PNG\r\n\x1a\n", kJpegBegin = "\xFF\xD8\xFF";

absl::Status wrong_image(const std::string& message) { return absl::InvalidArgumentError(message); }

absl::Status check_pixels(int64_t width, int64_t height, int64_t most) {
  if (width > 0 && height > 0 && width <= most / height) return absl::OkStatus();
  return wrong_image(absl::StrCat("is too large: its header says ", width, " x ", height,
                                  " pixels, but at most ", most, " are read"));
}

// Laid on white, a pixel after the other.
std::string without_alpha(const std::string& rgba) {
  std::string rgb;
  rgb.reserve(rgba.size() / 4 * 3);
  for (size_t pixel = 0; pixel + 3 < rgba.size(); pixel += 4) {
    const unsigned alpha = static_cast<unsigned char>(rgba[pixel + 3]);
    for (size_t i = 0; i < 3; ++i) {
      const unsigned colour = static_cast<unsigned char>(rgba[pixel + i]);
      rgb += static_cast<char>((colour * alpha + 255 * (255 - alpha) + 127) / 255);
    }
  }
  return rgb;
}

absl::StatusOr<ColourImage> decode_png(std::string_view file, int64_t most_pixels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> freed(&image, &png_image_free);
  const auto damaged = [&] {
    return wrong_image(absl::StrCat("is a damaged PNG: ", image.message));
  };
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) return damaged();
  absl::Status status = check_pixels(image.width, image.height, most_pixels);
  if (!status.ok()) return status;
  const bool has_alpha = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  image.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16 bits are sRGB, too, unless the file says else
  std::string bytes(PNG_IMAGE_SIZE(image), '\0');
  if (png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr) == 0) return damaged();
  return ColourImage{image.height, image.width, has_alpha ? without_alpha(bytes) : bytes};
}

absl::StatusOr<ColourImage> decode_jpeg(std::string_view file, int64_t most_pixels) {
  const std::unique_ptr<std::remove_pointer_t<tjhandle>, decltype(&tjDestroy)> reader(
      tjInitDecompress(), &tjDestroy);
  if (!reader) return absl::InternalError("libjpeg-turbo cannot begin to read a JPEG");
  const auto damaged = [&] {
    return wrong_image(absl::StrCat("is a damaged JPEG: ", tjGetErrorStr2(reader.get())));
  };
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(reader.get(), bytes, file.size(), &width, &height, &subsampling,
                          &colours) != 0) {
    return damaged();
  }
  if (width == 0 || height == 0) return wrong_image("is a damaged JPEG: it has no header");
  absl::Status status = check_pixels(width, height, most_pixels);
  if (!status.ok()) return status;
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
    return wrong_image("is a JPEG in CMYK, the inks of a printer; save it in RGB");
  }
  ColourImage image{height, width, std::string(static_cast<size_t>(3) * width * height, '\0')};
  // A part that is missing is only a warning, and would be grey.
  constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS;
  if (tjDecompress2(reader.get(), bytes, file.size(),
                    reinterpret_cast<unsigned char*>(image.bytes.data()), width, /*pitch=*/0,
                    height, TJPF_RGB, kFlags) != 0) {
    return damaged();
  }
  return image;
}

}  // namespace

absl::StatusOr<ColourImage> decode_image(std::string_view file, int64_t most_pixels) {
  if (file.empty()) return wrong_image("is empty");
  if (file.starts_with(kPngBegin)) return decode_png(file, most_pixels);
  if (file.starts_with(kJpegBegin)) return decode_jpeg(file, most_pixels);
  std::string begin;
  for (const char byte : file.substr(0, 4)) {
    absl::StrAppendFormat(&begin, " %02X", static_cast<unsigned char>(byte));
  }
  return wrong_image(absl::StrCat("is neither a PNG nor a JPEG file: it begins with", begin));
}

}  // namespace qkv
