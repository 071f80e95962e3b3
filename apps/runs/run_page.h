#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "apps/report/texts/text.h"
#include "train/folder/loaded_run.h"

namespace qkv {

// HTML that needs nothing else: the config and results of a run, its curves and samples; what its
// best checkpoint attends to, and the sizes of its gradients, part by part. Where there is no
// checkpoint, or no data, the page says so, and `tell` as well.
//   run: a folder
absl::StatusOr<std::string> run_page(const std::string& run, Language language,
                                     const TellNote& tell);

}  // namespace qkv
