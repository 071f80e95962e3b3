#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "framework/core/error.h"

namespace qkv {

// What the program made out of its own numbers, which nothing can be wrong with: else Error.
template <class T>
T sure(absl::StatusOr<T> made) {
  if (!made.ok()) fail(std::string(made.status().message()));
  return *std::move(made);
}

}  // namespace qkv
