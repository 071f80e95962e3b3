#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace qkv {

// What the user wrote wrong, in one Status: each mistake is a line of its message, escaped
// (framework/core/utf8.h), so that nothing in it can pass for the next mistake.
absl::Status mistakes_error(const std::vector<std::string>& mistakes,
                            absl::StatusCode code = absl::StatusCode::kInvalidArgument);

// The lines to show for a Status: of mistakes_error() one for each mistake; of any other one, with
// what it may quote of files, their names and the user escaped.
std::vector<std::string> lines_to_show(const absl::Status& status);

}  // namespace qkv
