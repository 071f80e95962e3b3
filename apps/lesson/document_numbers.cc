#include "apps/lesson/document_numbers.h"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "absl/strings/escaping.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class T>
std::string base64_of(std::span<const double> numbers) {
  const std::vector<T> converted(numbers.begin(), numbers.end());
  return absl::Base64Escape(
      {reinterpret_cast<const char*>(converted.data()), converted.size() * sizeof(T)});
}

bool is_f32(double number) {
  return static_cast<double>(static_cast<float>(number)) == number || number != number;
}

}  // namespace

EncodedNumbers encode_numbers(const Tensor& x, int64_t first, int64_t count) {
  const Tensor row = reshape(x.detached(), {x.size()});
  const std::vector<double> numbers = slice(row, 0, first, count).to_vector();
  if (x.dtype() == DType::boolean) return {"u8", base64_of<uint8_t>(numbers)};
  if (x.dtype() == DType::i64) return {"i32", base64_of<int32_t>(numbers)};
  if (std::ranges::all_of(numbers, is_f32)) return {"f32", base64_of<float>(numbers)};
  return {"f64", base64_of<double>(numbers)};
}

int64_t least_encoded_bytes(const Tensor& x) {
  const int64_t bytes = x.dtype() == DType::boolean ? x.size() : 4 * x.size();
  return (bytes + 2) / 3 * 4;  // base64
}

std::string encode_as_f32(const Tensor& x) { return base64_of<float>(x.to_vector()); }

}  // namespace qkv
