#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace qkv {

// All mistakes of the user in one Status: each mistake is a line of the message, escaped
// (framework/core/utf8.h), so that no text in it looks like another mistake.
absl::Status mistakes_error(const std::vector<std::string>& mistakes,
                            absl::StatusCode code = absl::StatusCode::kInvalidArgument);

// The same of what went wrong one after the other, with the code of the first; OK where nothing
// did.
absl::Status all_mistakes(const std::vector<absl::Status>& mistakes);

// The lines to print for a Status: one for each mistake of mistakes_error(); any other Status is
// one line, in which quoted texts are escaped.
std::vector<std::string> lines_to_show(const absl::Status& status);

}  // namespace qkv
