#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace qkv {

// The sizes of a dense row-major array, outermost first. A scalar has rank 0 and size 1.
//
// Legend used in every file: B batch, T length (Tq, Tk where they differ), C d_model, H heads,
// D head width (d_k), F d_ff, V vocabulary.
class Shape {
 public:
  static constexpr int kMaxRank = 8;
  // The most that the sizes multiply to, those of 0 left out. So nothing that is computed from a
  // shape overflows: the bytes of its elements, a stride, the product of some of its sizes.
  static constexpr int64_t kMaxSize = std::numeric_limits<int64_t>::max() / 8;

  Shape() = default;
  // Throw Error, beginning with `op`, on sizes that no array can have.
  Shape(std::initializer_list<int64_t> dims, const char* op = "shape");
  explicit Shape(std::span<const int64_t> dims, const char* op = "shape");

  // Why no array can have these sizes, "size -1 is negative"; "" where one can.
  static std::string mistake_in(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t size() const;  // the number of elements

  // `axis` may count from the end: -1 is the last. Throws Error when there is no such axis.
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(normalize(axis))]; }
  int normalize(int axis) const;

  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  std::span<const int64_t> dims() const { return {begin(), end()}; }

  // A copy with one size replaced, removed, or inserted before `axis`. Throw as a new shape does.
  Shape with(int axis, int64_t size, const char* op = "shape") const;
  Shape without(int axis) const;
  Shape inserted(int axis, int64_t size, const char* op = "shape") const;

  bool operator==(const Shape& other) const;

  std::string to_string() const;  // "[4, 16, 64]"

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// The common shape of `a` and `b` under NumPy's rules: aligned at the right, a size of 1 stretches.
// Throws Error, beginning with `op`, when two sizes clash.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

// The index of an element given by its place in row-major order.
std::vector<int64_t> index_of(const Shape& shape, int64_t element);
std::string position(const Shape& shape, int64_t element);  // "[1, 0, 3]"

}  // namespace qkv
