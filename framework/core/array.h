#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/core/dtype.h"
#include "framework/core/memory/storage.h"
#include "framework/core/shape.h"

namespace qkv {

// Dense row-major numbers: a shape, a dtype, and storage that copies share. Knows no gradients; a
// Tensor is an Array and the node that made it.
class Array {
 public:
  Array() = default;                       // undefined: no storage
  Array(const Shape& shape, DType dtype);  // uninitialized; throws OutOfMemory

  // Throw Error when the number of values is not shape.size(), or i64 does not hold one of them.
  static Array full(const Shape& shape, DType dtype, double value);
  static Array of(const Shape& shape, DType dtype, std::span<const double> values);
  static Array of(const Shape& shape, std::span<const int64_t> values);  // i64

  // On memory that holds the numbers already, as many as the shape has.
  static Array on(Storage storage, const Shape& shape, DType dtype);

  static Array without_numbers(const Shape& shape, DType dtype);  // allocates nothing

  bool defined() const { return static_cast<bool>(storage_); }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  int64_t size() const { return shape_.size(); }
  size_t bytes() const { return static_cast<size_t>(size()) * dtype_bytes(dtype_); }

  // The elements. Throw Error when T does not stand for dtype(). To ask for those that may be
  // changed counts as a write (Storage::version), so it is done once, and by one thread.
  template <class T>
  const T* data() const {
    check_type(dtype_of<T>);
    return reinterpret_cast<const T*>(storage_.data());
  }
  template <class T>
  T* mutable_data() {
    check_type(dtype_of<T>);
    storage_.count_write();
    return reinterpret_cast<T*>(storage_.data());
  }
  const void* raw() const { return storage_.data(); }  // nullptr where undefined
  void* mutable_raw() {
    storage_.count_write();
    return storage_.data();
  }

  Storage& storage() { return storage_; }
  const Storage& storage() const { return storage_; }

  // The same storage under another shape. Throws Error when the sizes differ.
  Array reshaped(const Shape& shape) const;
  // Shape and dtype without storage: for a tensor whose numbers are no longer needed.
  Array without_storage() const;
  // A copy in its own storage; all elements as doubles. Both throw Error without storage.
  Array copy() const;
  std::vector<double> to_vector() const;
  std::string describe() const;  // "f32[4, 16, 64]"

 private:
  void check_type(DType dtype) const {
    if (dtype != dtype_ || !storage_) fail_type(dtype);
  }
  void check_defined() const {
    if (!storage_) fail_type(dtype_);
  }
  [[noreturn]] void fail_type(DType dtype) const;
  Storage allocated() const;

  Shape shape_;
  DType dtype_ = DType::f32;
  Storage storage_;
};

Array wide_copy(const Array& x);  // x f64, the copy f128

}  // namespace qkv
