#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

// How a mistake of the user's is made, and passed on to the caller.
namespace qkv {

// An error whose text is all of the parts.
template <class... Parts>
absl::Status invalid_argument(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}
template <class... Parts>
absl::Status not_found(const Parts&... parts) {
  return absl::NotFoundError(absl::StrCat(parts...));
}
template <class... Parts>
absl::Status failed_precondition(const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat(parts...));
}
template <class... Parts>
absl::Status data_loss(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

}  // namespace qkv

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration has none

// The function returns the error of the expression, if it has one.
#define RETURN_IF_ERROR(...) \
  if (absl::Status its_status = (__VA_ARGS__); !its_status.ok()) return its_status

// ASSIGN_OR_RETURN(const Config config, load_config(path)): the value of a StatusOr, or else the
// function returns its error.
#define ASSIGN_OR_RETURN(variable, ...) \
  ASSIGN_OR_RETURN_BY(NAME_AT_LINE(made_at_, __LINE__), variable, __VA_ARGS__)
#define ASSIGN_OR_RETURN_BY(made, variable, ...)   \
  auto made = (__VA_ARGS__);                       \
  if (!made.ok()) return std::move(made).status(); \
  variable = *std::move(made)
#define NAME_AT_LINE(name, line) NAME_AT_LINE_BY(name, line)
#define NAME_AT_LINE_BY(name, line) name##line

// NOLINTEND(bugprone-macro-parentheses)
