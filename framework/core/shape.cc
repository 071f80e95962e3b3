#include "framework/core/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/core/error.h"

namespace qkv {
Shape::Shape(std::initializer_list<int64_t> dims, const char* op)
    : Shape(std::span<const int64_t>(dims.begin(), dims.size()), op) {}

Shape::Shape(std::span<const int64_t> dims, const char* op) {
  const std::string mistake = mistake_in(dims);
  if (!mistake.empty()) fail(absl::StrCat(op, ": ", mistake));
  rank_ = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

std::string Shape::mistake_in(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return absl::StrCat("rank ", dims.size(), " is above the limit of ", kMaxRank);
  }
  int64_t product = 1;
  for (int64_t dim : dims) {
    if (dim < 0) return absl::StrCat("size ", dim, " is negative");
    if (dim == 0) continue;
    if (__builtin_mul_overflow(product, dim, &product) || product > kMaxSize) {
      return absl::StrCat("[", absl::StrJoin(dims, ", "), "] is above the limit of ", kMaxSize,
                          " elements");
    }
  }
  return "";
}

int64_t Shape::size() const {
  int64_t size = 1;
  for (int64_t dim : dims()) size *= dim;
  return size;
}

int Shape::normalize(int axis) const {
  const int positive = axis < 0 ? axis + rank_ : axis;
  if (positive < 0 || positive >= rank_) {
    fail(absl::StrCat("axis ", axis, " is out of range for shape ", to_string()));
  }
  return positive;
}

Shape Shape::with(int axis, int64_t size, const char* op) const {
  Shape result = *this;
  result.dims_[static_cast<size_t>(normalize(axis))] = size;
  return Shape(result.dims(), op);
}

Shape Shape::without(int axis) const {
  axis = normalize(axis);
  Shape result = *this;
  std::copy(begin() + axis + 1, end(), result.dims_.begin() + axis);
  --result.rank_;
  return result;
}

Shape Shape::inserted(int axis, int64_t size, const char* op) const {
  const int place = axis < 0 ? axis + rank_ + 1 : axis;
  if (place < 0 || place > rank_) {
    fail(absl::StrCat(op, ": cannot insert an axis at ", axis, " into ", to_string()));
  }
  std::array<int64_t, kMaxRank + 1> dims{};
  std::copy(begin(), begin() + place, dims.begin());
  dims[static_cast<size_t>(place)] = size;
  std::copy(begin() + place, end(), dims.begin() + place + 1);
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank_) + 1), op);
}

bool Shape::operator==(const Shape& other) const {
  return std::ranges::equal(dims(), other.dims());
}

std::string Shape::to_string() const { return absl::StrCat("[", absl::StrJoin(dims(), ", "), "]"); }

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<int64_t, Shape::kMaxRank> dims{};
  for (int i = 1; i <= rank; ++i) {  // counted from the right
    const int64_t size_a = i <= a.rank() ? a[-i] : 1;
    const int64_t size_b = i <= b.rank() ? b[-i] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      fail(absl::StrCat(op, ": shapes do not broadcast: a ", a.to_string(), ", b ", b.to_string(),
                        ": sizes ", size_a, " and ", size_b, " at axis ", -i));
    }
    dims[static_cast<size_t>(rank - i)] = size_a == 1 ? size_b : size_a;
  }
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank)), op);
}

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
