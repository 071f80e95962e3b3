#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace qkv {

// "a, b and 3 more": names in an error, at most `most` of them, each as printable() and cut.
std::string listed(const std::vector<std::string>& names, std::string_view between = ", ",
                   size_t most = 20);

// All mistakes of the user in one Status: each mistake is a line of the message, escaped
// (framework/core/text/utf8.h), so that no text in it looks like another mistake.
absl::Status mistakes_error(const std::vector<std::string>& mistakes,
                            absl::StatusCode code = absl::StatusCode::kInvalidArgument);

// The same of several errors, with the code of the first; OK if there are none.
absl::Status all_mistakes(const std::vector<absl::Status>& mistakes);

// The lines to print for a Status: one for each mistake of mistakes_error(); any other Status is
// one line, in which quoted texts are escaped. A line of more than 2,000 bytes, as a file's own
// words may make it, loses its middle.
std::vector<std::string> lines_to_show(const absl::Status& status);

}  // namespace qkv
