#pragma once

#include <string>

#include "apps/runs/run_summary.h"
#include "framework/core/status.h"
#include "train/folder/loaded_run.h"

namespace qkv {

// The sections of the page of a run, as HTML in both languages.

// The attention of the heads in a validation example. `loaded`: or why there is no model.
std::string attention_section(const absl::StatusOr<RunWithData>& loaded, const TellNote& tell);
// The norms of gradients, weights and updates, for each part of the model: as they were measured
// while it was trained, or else by one backward pass of a batch.
std::string layers_section(const RunSummary& run, const absl::StatusOr<RunWithData>& loaded);

}  // namespace qkv
