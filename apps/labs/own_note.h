#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/report/report.h"

namespace qkv {

// A teacher's own note, with marks behind the sentences that labs are to judge: {lab: scaling}, or
// {lab: scaling.variance}, one section of the lab. A mark belongs to the sentence before it. An
// error has the line.
absl::StatusOr<std::vector<NotePart>> read_own_note(const std::string& path);

}  // namespace qkv
