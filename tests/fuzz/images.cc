#include <zlib.h>

#include "data/images/decode_image.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"

namespace qkv {
namespace {

uint32_t number_at(std::string_view bytes, size_t place) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[place + i]);
  }
  return number;
}

// The chunks of a PNG with the sums that they must have: a length, a name, as many bytes, and the
// sum.
std::string with_sums(std::string_view chunks) {
  std::string bytes(chunks);
  for (size_t place = 0; place + 12 <= bytes.size();) {
    const size_t length = number_at(bytes, place);
    if (length > bytes.size() - place - 12) break;
    const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + place + 4),
                            static_cast<uInt>(length + 4));
    for (size_t i = 0; i < 4; ++i) {
      bytes[place + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i) & 0xFF);
    }
    place += length + 12;
  }
  return bytes;
}

void check_image(const std::string& file) {
  constexpr int64_t kMost = 1 << 12;  // of pixels
  const absl::StatusOr<ColourImage> image = decode_image(file, kMost);
  if (!image.ok()) {
    require_good_message(image.status(), {"is a ", "is too large: "});
    return;
  }
  require(image->height > 0 && image->width > 0 && image->height * image->width <= kMost,
          "an image has as many pixels as are read");
  require(std::ssize(image->bytes) == 3 * image->height * image->width,
          "every pixel has three numbers");
  const absl::StatusOr<ColourImage> again = decode_image(file, kMost);
  require(again.ok() && again->bytes == image->bytes, "the same file is the same image");
  for (const Named<Fit>& fit : kNames<Fit>) {
    const ImageLayout layout = {3, 5, 4, fit.value};
    require(fit_image(*image, layout).size() == layout.bytes(), "an image gets its size", fit.name);
  }
}

}  // namespace

void fuzz_png(std::string_view input) { check_image("\x89PNG\r\n\x1a\n" + with_sums(input)); }

void fuzz_jpeg(std::string_view input) { check_image("\xFF\xD8\xFF" + std::string(input)); }

}  // namespace qkv
