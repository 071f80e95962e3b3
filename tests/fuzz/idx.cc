#include "data/images/idx.h"

#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"

namespace qkv {
namespace {

// The file that holds `array` and no more.
std::string file_of(const IdxArray& array) {
  std::string file = {0, 0, 8, static_cast<char>(array.sizes.size())};
  for (const int64_t size : array.sizes) {
    for (const int shift : {24, 16, 8, 0}) file += static_cast<char>(size >> shift & 0xFF);
  }
  return file + array.bytes;
}

}  // namespace

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

}  // namespace qkv
