#include "framework/core/position.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace qkv {

std::vector<int64_t> index_of(const Shape& shape, int64_t element) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<size_t>(axis)] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

std::string position(const Shape& shape, int64_t element) {
  return absl::StrCat("[", absl::StrJoin(index_of(shape, element), ", "), "]");
}

}  // namespace qkv
