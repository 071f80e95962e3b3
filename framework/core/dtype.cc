#include "framework/core/dtype.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::f128:
      return "f128";
    case DType::bf16:
      return "bf16";
    case DType::i64:
      return "i64";
    case DType::boolean:
      break;
  }
  return "bool";
}

size_t dtype_bytes(DType dtype) {
  return dispatch_any(dtype, [](auto zero) { return sizeof(zero); });
}

void fail_not_computable(std::string_view op, DType dtype) {
  const std::string hint = dtype == DType::bf16 ? "; cast it to f32 first" : "";
  fail(absl::StrCat(std::string(op), ": needs f32 or f64, not ", std::string(dtype_name(dtype)),
                    hint));
}

}  // namespace qkv
