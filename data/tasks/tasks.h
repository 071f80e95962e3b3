#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/task.h"

namespace qkv {

// Each is documented where it is made.
TaskKind copy_task();
TaskKind reverse_task();
TaskKind sort_task();
TaskKind addition_task();
TaskKind modular_addition_task();
TaskKind parity_task();
TaskKind associative_recall_task();
TaskKind induction_task();
TaskKind echo_task();
TaskKind hold_task();
TaskKind dates_task();
TaskKind preference_task();
TaskKind reference_task();
TaskKind text_task();
TaskKind lines_task();
TaskKind pairs_task();
TaskKind classes_task();
TaskKind shapes_task();
TaskKind idx_task();
TaskKind image_folder_task();

// The list, in the order in which people see it.
inline constexpr TaskKind (*kTasks[])() = {copy_task,
                                           reverse_task,
                                           sort_task,
                                           addition_task,
                                           modular_addition_task,
                                           parity_task,
                                           associative_recall_task,
                                           induction_task,
                                           echo_task,
                                           hold_task,
                                           dates_task,
                                           preference_task,
                                           reference_task,
                                           text_task,
                                           lines_task,
                                           pairs_task,
                                           classes_task,
                                           shapes_task,
                                           idx_task,
                                           image_folder_task};

const std::vector<TaskKind>& task_kinds();           // those of the list
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
