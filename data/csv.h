#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace qkv {

// The next line of a file without its end, or none.
using NextLine = std::function<std::optional<std::string>()>;

// The fields of the CSV record (RFC 4180) that begins with `line`; where a quoted field holds line
// ends, its other lines come from `next`. An error says what is wrong: "a quote stands in …".
// (Debian's libcsv, 3.0.3 of 2013, takes broken quotes or says only that there are some; what it
// would need around it to name a line is as long as this.)
absl::StatusOr<std::vector<std::string>> parse_csv_record(std::string line, const NextLine& next);

}  // namespace qkv
