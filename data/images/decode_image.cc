#include "data/images/decode_image.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "data/file.h"

namespace qkv {
namespace {

constexpr std::string_view kPngBegin = "\x89PNG\r\n\x1a\n", kJpegBegin = "\xFF\xD8\xFF";

// The number of `size` bytes at a place, or 0 where the text ends before.
uint64_t number_at(std::string_view text, size_t place, size_t size, bool is_big_endian) {
  if (place > text.size() || size > text.size() - place) return 0;
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i) {
    const size_t at = place + (is_big_endian ? i : size - 1 - i);
    number = number << 8 | static_cast<unsigned char>(text[at]);
  }
  return number;
}

// The EXIF data of a file, which are a TIFF file; "": it has none.
std::string_view exif_of(std::string_view file) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  if (file.starts_with(kPngBegin)) {  // chunks: length, name, data, checksum
    for (size_t at = kPngBegin.size(); at + 12 <= file.size();) {
      const uint64_t length = number_at(file, at, 4, true);
      if (file.substr(at + 4, 4) == "eXIf") return file.substr(at + 8, length);
      at += 12 + length;
    }
    return "";
  }
  for (size_t at = 2; at + 4 <= file.size() && file[at] == '\xFF';) {  // FF, marker, length, data
    const auto marker = static_cast<unsigned char>(file[at + 1]);
    if (marker == 0xDA) break;  // pixels
    const size_t length = number_at(file, at + 2, 2, true);
    const std::string_view data = file.substr(at + 4, std::max<size_t>(length, 2) - 2);
    if (marker == 0xE1 && data.starts_with(kExif)) return data.substr(kExif.size());
    at += marker == 0xFF ? 1 : 2 + length;
  }
  return "";
}

// 1 … 8; 1 where nothing is said.
int exif_orientation(std::string_view file) {
  constexpr uint64_t kOrientation = 0x0112, kShort = 3, kLong = 4;
  const std::string_view exif = exif_of(file);
  const bool big = exif.starts_with("MM");
  const size_t list = number_at(exif, 4, 4, big);
  const uint64_t entries = number_at(exif, list, 2, big);
  for (uint64_t i = 0; i < entries; ++i) {
    const size_t at = list + 2 + 12 * i;  // tag, type, count, value
    if (at + 12 > exif.size()) break;
    if (number_at(exif, at, 2, big) != kOrientation) continue;
    const uint64_t type = number_at(exif, at + 2, 2, big);
    if (type != kShort && type != kLong) break;
    const uint64_t value = number_at(exif, at + 8, type == kShort ? 2 : 4, big);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

// The image as the photographer saw it.
ColourImage turned(ColourImage image, int orientation) {
  if (orientation == 1) return image;
  const bool swaps = orientation >= 5;  // rows and columns
  const bool from_below =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  ColourImage seen{swaps ? image.width : image.height, swaps ? image.height : image.width, {}};
  seen.bytes.reserve(image.bytes.size());
  for (int64_t y = 0; y < seen.height; ++y) {
    for (int64_t x = 0; x < seen.width; ++x) {
      const int64_t row = swaps ? x : y, column = swaps ? y : x;
      const int64_t old_row = from_below ? image.height - 1 - row : row;
      const int64_t old_column = from_right ? image.width - 1 - column : column;
      seen.bytes.append(image.bytes, static_cast<size_t>(3 * (old_row * image.width + old_column)),
                        3);
    }
  }
  return seen;
}

absl::Status check_pixels(int64_t width, int64_t height, int64_t most, const BeginPixels& begin) {
  if (width > 0 && height > 0 && width <= most / height) {
    return begin ? begin(width * height) : absl::OkStatus();
  }
  return invalid_argument("is too large: its header says ", width, " x ", height,
                          " pixels, but at most ", most, " are read");
}

// Laid on white, a pixel after the other, in place.
void lay_on_white(std::string& rgba) {
  size_t written = 0;
  for (size_t pixel = 0; pixel + 3 < rgba.size(); pixel += 4) {
    const unsigned alpha = static_cast<unsigned char>(rgba[pixel + 3]);
    for (size_t i = 0; i < 3; ++i) {
      const unsigned colour = static_cast<unsigned char>(rgba[pixel + i]);
      rgba[written++] = static_cast<char>((colour * alpha + 255 * (255 - alpha) + 127) / 255);
    }
  }
  rgba.resize(written);
}

absl::StatusOr<ColourImage> decode_png(std::string_view file, int64_t most_pixels,
                                       const BeginPixels& begin) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> freed(&image, &png_image_free);
  const auto damaged = [&] { return invalid_argument("is a damaged PNG: ", image.message); };
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) return damaged();
  RETURN_IF_ERROR(check_pixels(image.width, image.height, most_pixels, begin));
  const bool has_alpha = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  image.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16 bits are sRGB, too, unless the file says else
  std::string bytes(PNG_IMAGE_SIZE(image), '\0');
  if (png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr) == 0) return damaged();
  if (has_alpha) lay_on_white(bytes);
  return ColourImage{image.height, image.width, std::move(bytes)};
}

absl::StatusOr<ColourImage> decode_jpeg(std::string_view file, int64_t most_pixels,
                                        const BeginPixels& begin) {
  const std::unique_ptr<std::remove_pointer_t<tjhandle>, decltype(&tjDestroy)> reader(
      tjInitDecompress(), &tjDestroy);
  if (!reader) return absl::InternalError("libjpeg-turbo cannot begin to read a JPEG");
  const auto damaged = [&] {
    return invalid_argument("is a damaged JPEG: ", tjGetErrorStr2(reader.get()));
  };
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(reader.get(), bytes, file.size(), &width, &height, &subsampling,
                          &colours) != 0) {
    return damaged();
  }
  if (width == 0 || height == 0) return invalid_argument("is a damaged JPEG: it has no header");
  RETURN_IF_ERROR(check_pixels(width, height, most_pixels, begin));
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
    return invalid_argument("is a JPEG in CMYK, the inks of a printer; save it in RGB");
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

struct Plane {
  int64_t height, width;
  std::string bytes;  // [height, width]
};

// The sources of one pixel of a row or column: `weights` for the old pixels from `first` on.
struct Taps {
  int64_t first = 0;
  std::vector<double> weights;
};

// Where the new pixels stand along one side: `scaled` of them are the image; those from `skipped`
// on are kept, behind `before` empty ones.
struct Side {
  int64_t scaled = 0, skipped = 0, before = 0, kept = 0;
};

int64_t rounded_ratio(int64_t a, int64_t b) { return (2 * a + b) / (2 * b); }

Side side_of_image(int64_t scaled, int64_t wanted) {
  if (scaled >= wanted) return {scaled, (scaled - wanted) / 2, 0, wanted};
  return {scaled, 0, (wanted - scaled) / 2, scaled};
}

std::pair<int64_t, int64_t> scaled_size(int64_t height, int64_t width, const ImageLayout& to) {
  if (to.fit == Fit::kStretch) return {to.height, to.width};
  const bool is_wide = width * to.height >= height * to.width;  // wider than wanted
  if (is_wide == (to.fit == Fit::kCrop)) {
    return {to.height, std::max<int64_t>(1, rounded_ratio(width * to.height, height))};
  }
  return {std::max<int64_t>(1, rounded_ratio(height * to.width, width)), to.width};
}

// The taps of the new pixels that are kept, of a side of `size` old ones.
std::vector<Taps> taps_of(int64_t size, const Side& side) {
  const double scale = static_cast<double>(size) / static_cast<double>(side.scaled);
  const double reach = std::max(scale, 1.0);
  std::vector<Taps> all;
  for (int64_t i = side.skipped; i < side.skipped + side.kept; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, std::llround(std::floor(centre - reach + 0.5)));
    const auto end = std::min<int64_t>(size, std::llround(std::floor(centre + reach + 0.5)));
    Taps taps{.first = first, .weights = {}};
    double sum = 0;
    for (int64_t old = first; old < end; ++old) {
      const double distance = std::abs(static_cast<double>(old) + 0.5 - centre) / reach;
      taps.weights.push_back(std::max(0.0, 1.0 - distance));
      sum += taps.weights.back();
    }
    for (double& weight : taps.weights) weight /= sum;
    all.push_back(std::move(taps));
  }
  return all;
}

// Row after row gets its new pixels, and then the columns.
void resize(const Plane& plane, const std::vector<Taps>& rows, const std::vector<Taps>& columns,
            const std::function<void(size_t row, size_t column, double value)>& set) {
  const int64_t first = rows.front().first;
  const int64_t end = rows.back().first + std::ssize(rows.back().weights);
  std::vector<double> narrow;  // [end - first, columns]
  narrow.reserve(static_cast<size_t>(end - first) * columns.size());
  for (int64_t y = first; y < end; ++y) {
    const char* row = plane.bytes.data() + y * plane.width;
    for (const Taps& taps : columns) {
      double sum = 0;
      for (size_t i = 0; i < taps.weights.size(); ++i) {
        sum +=
            taps.weights[i] * static_cast<unsigned char>(row[static_cast<size_t>(taps.first) + i]);
      }
      narrow.push_back(sum);
    }
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto begin = static_cast<size_t>(rows[row].first - first);
    for (size_t column = 0; column < columns.size(); ++column) {
      double sum = 0;
      for (size_t i = 0; i < rows[row].weights.size(); ++i) {
        sum += rows[row].weights[i] * narrow[(begin + i) * columns.size() + column];
      }
      set(row, column, sum);
    }
  }
}

// Red, green or blue; or grey, with factors of 16 bits.
Plane plane_of(const ColourImage& image, int64_t channel, bool is_grey) {
  Plane plane{image.height, image.width, std::string(image.bytes.size() / 3, '\0')};
  const auto* pixel = reinterpret_cast<const unsigned char*>(image.bytes.data());
  for (char& byte : plane.bytes) {
    const unsigned grey = (19595U * pixel[0] + 38470U * pixel[1] + 7471U * pixel[2] + 32768U) >> 16;
    byte = static_cast<char>(is_grey ? grey : pixel[channel]);
    pixel += 3;
  }
  return plane;
}

}  // namespace

bool is_image(std::string_view begin) {
  return begin.starts_with(kPngBegin) || begin.starts_with(kJpegBegin);
}

absl::StatusOr<ColourImage> decode_image(std::string_view file, int64_t most_pixels,
                                         const BeginPixels& begin) {
  if (file.empty()) return invalid_argument("is empty");
  if (is_image(file)) {
    ASSIGN_OR_RETURN(ColourImage image, file.starts_with(kPngBegin)
                                            ? decode_png(file, most_pixels, begin)
                                            : decode_jpeg(file, most_pixels, begin));
    return turned(std::move(image), exif_orientation(file));
  }
  if (const std::string kind = kind_of_file(file); !kind.empty()) {
    return invalid_argument(
        "is ", kind,
        "; images are PNG or JPEG files, which ImageMagick makes: convert FILE FILE.png");
  }
  std::string first;
  for (const char byte : file.substr(0, 4)) {
    absl::StrAppendFormat(&first, " %02X", static_cast<unsigned char>(byte));
  }
  return invalid_argument("is neither a PNG nor a JPEG file: it begins with", first);
}

std::string fit_image(const ColourImage& image, const ImageLayout& layout) {
  const auto [scaled_height, scaled_width] = scaled_size(image.height, image.width, layout);
  const Side down = side_of_image(scaled_height, layout.height);
  const Side across = side_of_image(scaled_width, layout.width);
  const std::vector<Taps> rows = taps_of(image.height, down),
                          columns = taps_of(image.width, across);
  std::string bytes(layout.bytes(), '\0');
  for (int64_t channel = 0; channel < layout.channels; ++channel) {
    const int64_t top = channel * layout.height + down.before;
    resize(plane_of(image, channel, layout.channels == 1), rows, columns,
           [&](size_t row, size_t column, double value) {
             const int64_t at = (top + static_cast<int64_t>(row)) * layout.width + across.before +
                                static_cast<int64_t>(column);
             bytes[at] = static_cast<char>(std::lround(std::clamp(value, 0.0, 255.0)));
           });
  }
  return bytes;
}

}  // namespace qkv
