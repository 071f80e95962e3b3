#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "framework/core/error.h"

namespace qkv {

// A value that the program made from its own numbers, so that it must be OK: else Error.
template <class T>
T sure(absl::StatusOr<T> made) {
  if (!made.ok()) fail(std::string(made.status().message()));
  return *std::move(made);
}

}  // namespace qkv
