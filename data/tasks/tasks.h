#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/task.h"
#include "framework/core/status.h"

namespace qkv {

// Each TaskKind NAME_task() that CMake finds in this folder, where it is documented.
const std::vector<TaskKind>& task_kinds();
const TaskKind* find_task(const std::string& name);  // nullptr: there is none
std::vector<std::string> task_names();

// Every mistake that can be seen without opening a file; only the keys that the task reads count.
std::vector<OptionMistake> find_mistakes(const DataOptions& options);

// An error, in a sentence for the user, when options are wrong, the file cannot be used, or the
// task does not have that form.
absl::StatusOr<std::unique_ptr<Dataset>> make_dataset(const DataOptions& options, uint64_t seed,
                                                      DataForm form = DataForm::kSequence,
                                                      const Wait& wait = {});

}  // namespace qkv
