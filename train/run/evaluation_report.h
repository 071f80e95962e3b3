#pragma once

#include <string>

#include "data/dataset.h"
#include "train/run/evaluate.h"
#include "train/run/loaded_run.h"

namespace qkv {

// What `qkv eval` says of a run, as a JSON object on a line and as text for a terminal. Accuracies
// are there if the data have answers.  part: "val" or "train"
std::string evaluation_json(const LoadedRun& run, const Dataset& dataset, const char* part,
                            const Evaluation& e);
std::string evaluation_text(const LoadedRun& run, const Dataset& dataset, const char* part,
                            const Evaluation& e);

}  // namespace qkv
