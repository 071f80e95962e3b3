#include "framework/core/array.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/wide.h"

namespace qkv {
namespace {

template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    if (value >= -0x1p63 && value < 0x1p63) return static_cast<int64_t>(value);
    fail(absl::StrCat("array: i64 does not hold ", value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return static_cast<float>(value);
  } else {
    return static_cast<double>(value);
  }
}

void check_count(const Shape& shape, size_t count) {
  if (static_cast<size_t>(shape.size()) != count) {
    fail(absl::StrCat("array: ", count, " values do not fill shape ", shape.to_string()));
  }
}

}  // namespace

Array::Array(const Shape& shape, DType dtype)
    : shape_(shape), dtype_(wide_dtype(dtype)), storage_(allocated()) {}

Storage Array::allocated() const {
  try {
    return Storage(bytes());
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(absl::StrCat(describe(), ", ", describe_bytes(bytes())));
  }
}

Array Array::full(const Shape& shape, DType dtype, double value) {
  Array result(shape, dtype);
  dispatch_any(result.dtype(), [&]<class T>(T) {
    std::fill_n(result.mutable_data<T>(), result.size(), from_double<T>(value));
  });
  return result;
}

Array Array::of(const Shape& shape, DType dtype, std::span<const double> values) {
  check_count(shape, values.size());
  Array result(shape, dtype);
  dispatch_any(result.dtype(), [&]<class T>(T) {
    std::transform(values.begin(), values.end(), result.mutable_data<T>(), from_double<T>);
  });
  return result;
}

Array Array::of(const Shape& shape, std::span<const int64_t> values) {
  check_count(shape, values.size());
  Array result(shape, DType::i64);
  std::copy(values.begin(), values.end(), result.mutable_data<int64_t>());
  return result;
}

Array Array::on(Storage storage, const Shape& shape, DType dtype) {
  Array result = without_numbers(shape, dtype);
  result.storage_ = std::move(storage);
  return result;
}

Array Array::without_numbers(const Shape& shape, DType dtype) {
  Array result;
  result.shape_ = shape;
  result.dtype_ = dtype;
  return result;
}

Array Array::reshaped(const Shape& shape) const {
  check_defined();
  if (shape.size() != size()) {
    fail(absl::StrCat("reshape: ", describe(), " has ", size(), " elements and ", shape.to_string(),
                      " has ", shape.size()));
  }
  Array result = *this;
  result.shape_ = shape;
  return result;
}

Array Array::without_storage() const { return without_numbers(shape_, dtype_); }

Array Array::copy() const {
  check_defined();
  Array result(shape_, dtype_);
  if (bytes() > 0) std::memcpy(result.mutable_raw(), raw(), bytes());
  return result;
}

std::vector<double> Array::to_vector() const {
  check_defined();
  if (dtype_ == DType::f128) WideRun::note_narrowing("to_vector");
  std::vector<double> values(static_cast<size_t>(size()));
  dispatch_any(dtype_, [&]<class T>(T) {
    std::transform(data<T>(), data<T>() + size(), values.begin(), to_double<T>);
  });
  return values;
}

Array wide_copy(const Array& x) {
  Array wide(x.shape(), DType::f128);
  std::copy_n(x.data<double>(), x.size(), wide.mutable_data<Float128>());
  return wide;
}

std::string Array::describe() const {
  return absl::StrCat(std::string(dtype_name(dtype_)), shape_.to_string());
}

void Array::fail_type(DType dtype) const {
  if (dtype_ == DType::f128 && dtype == DType::f64) WideRun::note_narrowing("data<double>");
  if (!storage_) fail(absl::StrCat("array: ", describe(), " holds no numbers"));
  fail(absl::StrCat("array: ", describe(), " read as ", std::string(dtype_name(dtype))));
}

}  // namespace qkv
