#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/array.h"
#include "framework/kernels/elementwise/convert.h"
#include "framework/kernels/elementwise/vector.h"
#include "framework/kernels/product/small_product.h"

// The rows of one head of one sequence, and the scratch of the thread that works on it.
namespace qkv::kernels {

// One sequence's queries (or keys, values, …) for one head, in [B, T, H, D].
template <class T>
struct Rows {
  T* data;
  int64_t stride;
  T* operator[](int64_t i) const { return data + i * stride; }
};

template <class T>
Rows<const T> rows_of(const Array& x, int64_t b, int64_t h) {
  const Shape& s = x.shape();
  return {x.data<T>() + (b * s[1] * s[2] + h) * s[3], s[2] * s[3]};
}

// The same of an array that several threads write to: one write, by whoever makes this.
template <class T>
class WritableHeads {
 public:
  explicit WritableHeads(Array& x) : data_(x.mutable_data<T>()), shape_(x.shape()) {}

  Rows<T> rows_of(int64_t b, int64_t h) const {
    const Shape& s = shape_;
    return {data_ + (b * s[1] * s[2] + h) * s[3], s[2] * s[3]};
  }

 private:
  T* data_;
  const Shape& shape_;
};

// Memory for one thread's scratch matrices. To ask for each of them would take as long as a head.
template <class T>
class Workspace {
 public:
  T* take(int64_t count) {
    if (left_ < count) {
      constexpr int64_t kAtATime = 16384;
      left_ = std::max(count, kAtATime);
      next_ = arrays_.emplace_back(Shape{left_}, dtype_of<T>).template mutable_data<T>();
    }
    left_ -= count;
    return std::exchange(next_, next_ + count);
  }

 private:
  std::vector<Array> arrays_;
  T* next_ = nullptr;
  int64_t left_ = 0;
};

// A matrix on one thread; rows begin at whole vectors.
template <class T>
class Scratch {
 public:
  Scratch(Workspace<T>& space, int64_t rows, int64_t columns)
      : rows_(rows), stride_(whole_vectors<T>(columns)), data_(space.take(rows * stride_)) {}

  T* operator[](int64_t i) const { return data_ + i * stride_; }
  T* data() const { return data_; }
  int64_t stride() const { return stride_; }
  Rows<T> all() const { return {data_, stride_}; }
  Strided<T> rows() const { return {data_, stride_, 1}; }
  Strided<T> transposed() const { return {data_, 1, stride_}; }
  void zero() const { std::fill_n(data_, rows_ * stride_, T(0)); }

 private:
  int64_t rows_, stride_;
  T* data_;
};

// to = from, in another type.
template <class To, class From>
void convert_rows(Rows<const From> from, int64_t count, int64_t width, Rows<To> to) {
  constexpr int64_t kLength = kVectorLength<Computed<From>>;
  if (width % kLength != 0) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t d = 0; d < width; ++d) to[i][d] = convert<To>(from[i][d]);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t d = 0; d < width; d += kLength) {
      store_vector(to[i] + d, load_vector(from[i] + d));
    }
  }
}

// A head's rows as whole vectors of the type that they are computed with: the array's own rows
// where they are that, else copies of them with zeros at their ends.
template <class X>
class HeadRows {
 public:
  using T = Computed<X>;

  HeadRows(Workspace<T>& space, int64_t rows, int64_t width) : rows_(rows), width_(width) {
    if (kSameType && width % kVectorLength<T> == 0) return;
    copies_.emplace(space, rows, width);
    copies_->zero();
  }

  Rows<const T> load(const Array& x, int64_t b, int64_t h) const {
    const Rows<const X> from = rows_of<X>(x, b, h);
    if constexpr (kSameType) {
      if (!copies_) return from;
    }
    convert_rows<T, X>(from, rows_, width_, copies_->all());
    return {copies_->data(), copies_->stride()};
  }

  // Zeros, to add to and then to store.
  Rows<T> zeros(const WritableHeads<X>& x, int64_t b, int64_t h) const {
    if constexpr (kSameType) {
      if (!copies_) {
        const Rows<T> rows = x.rows_of(b, h);
        for (int64_t i = 0; i < rows_; ++i) std::fill_n(rows[i], width_, T(0));
        return rows;
      }
    }
    copies_->zero();
    return copies_->all();
  }

  void store(const WritableHeads<X>& x, int64_t b, int64_t h) const {
    if (!copies_) return;
    convert_rows<X, T>({copies_->data(), copies_->stride()}, rows_, width_, x.rows_of(b, h));
  }

 private:
  static constexpr bool kSameType = std::is_same_v<X, T>;

  int64_t rows_, width_;
  std::optional<Scratch<T>> copies_;
};

// to[:, i] = factor from[first + i, :], with zeros up to a whole vector.
template <class T>
void gather_columns(Rows<const T> from, int64_t first, int64_t count, int64_t width, T factor,
                    const Scratch<T>& to) {
  constexpr int kLength = kVectorLength<T>;
  int64_t d = 0;
  for (; count == kLength && d + kLength <= width; d += kLength) {
    Vector<T> square[kLength];
#pragma GCC unroll 16
    for (int i = 0; i < kLength; ++i) square[i] = vector_at(from[first + i] + d) * factor;
    transpose<kLength / 2>(square);
#pragma GCC unroll 16
    for (int i = 0; i < kLength; ++i) vector_at(to[d + i]) = square[i];
  }
  for (; d < width; ++d) {
    T* column = to[d];
    for (int64_t i = 0; i < count; ++i) column[i] = factor * from[first + i][d];
    for (int64_t i = count; i < to.stride(); ++i) column[i] = 0;
  }
}

}  // namespace qkv::kernels
