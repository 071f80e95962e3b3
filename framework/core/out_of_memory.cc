#include "framework/core/out_of_memory.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/core/storage.h"

namespace qkv {
namespace {

std::string place() {  // " (in blocks.0.attention)"
  return Scope::current().empty() ? "" : absl::StrCat(" (in ", Scope::current(), ")");
}

}  // namespace

OutOfMemory::OutOfMemory()
    : text_(std::make_shared<const std::string>("there is not enough memory")) {}

OutOfMemory::OutOfMemory(const std::string& array)
    : text_(std::make_shared<const std::string>(
          absl::StrCat("there is not enough memory for ", array, ", beside ",
                       describe_bytes(allocator_statistics().bytes_in_use), " in use", place()))),
      names_place_(!Scope::current().empty()) {}

OutOfMemory OutOfMemory::of(const std::bad_alloc& error) {
  const auto* told = dynamic_cast<const OutOfMemory*>(&error);
  return told ? *told : OutOfMemory();
}

OutOfMemory OutOfMemory::in_op(std::string_view op) const {
  if (names_op_) return *this;
  OutOfMemory result = *this;
  result.text_ = std::make_shared<const std::string>(
      absl::StrCat(std::string(op), ": ", *text_, names_place_ ? "" : place()));
  result.names_op_ = result.names_place_ = true;
  return result;
}

std::string describe_bytes(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double count = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; count >= 1023.5 && unit + 1 < kUnits.size(); ++unit) count /= 1024;
  return absl::StrFormat("%.*f %s", count < 9.95 ? 1 : 0, count, kUnits[unit]);
}

}  // namespace qkv
