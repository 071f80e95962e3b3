#include <zlib.h>

#include "data/images/decode_image.h"
#include "data/images/idx.h"
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

// The file that holds `array` and no more.
std::string file_of(const IdxArray& array) {
  std::string file = {0, 0, 8, static_cast<char>(array.sizes.size())};
  for (const int64_t size : array.sizes) {
    for (const int shift : {24, 16, 8, 0}) file += static_cast<char>(size >> shift & 0xFF);
  }
  return file + array.bytes;
}

// Images as PNG and JPEG files; what begins the file and, in a PNG, the sums of its chunks are put
// right before.
void fuzz_png(std::string_view input) { check_image("\x89PNG\r\n\x1a\n" + with_sums(input)); }
const bool kPngIsAdded = add_fuzz_target({"png", fuzz_png});

void fuzz_jpeg(std::string_view input) { check_image("\xFF\xD8\xFF" + std::string(input)); }
const bool kJpegIsAdded = add_fuzz_target({"jpeg", fuzz_jpeg});

// Images and labels in MNIST's format, gzipped or not: what is understood is what the file says.
void fuzz_idx(std::string_view input) {
  constexpr size_t kMost = 1 << 20;  // of what is packed
  for (const size_t dimensions : {1, 3}) {
    const absl::StatusOr<IdxArray> array = parse_idx(input, dimensions);
    if (!array.ok()) {
      require_good_message(array.status(), {"is ", "its ", "holds "});
      continue;
    }
    require(array->sizes.size() == dimensions, "an array has the dimensions that are asked for");
    const std::string file = file_of(*array);
    if (is_gzipped(input)) {
      const absl::StatusOr<std::string> unpacked = gunzip(input, kMost);
      require(unpacked.ok() && (*unpacked == file || unpacked->size() == kMost),
              "an array is what was packed", file);
    } else {
      require(input == file, "an array is what the file says", file);
    }
  }
}
const bool kIdxIsAdded = add_fuzz_target({"idx", fuzz_idx});

}  // namespace
}  // namespace qkv
