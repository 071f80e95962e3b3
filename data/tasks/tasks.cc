#include "data/tasks/tasks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace qkv {

const std::vector<TaskKind>& task_kinds() {
  static const auto& kinds = *new auto([] {
    std::vector<TaskKind> all;
    for (const auto task : kTasks) all.push_back(task());
    return all;
  }());
  return kinds;
}

const TaskKind* find_task(const std::string& name) {
  const auto found = std::ranges::find(task_kinds(), name, &TaskKind::name);
  return found == task_kinds().end() ? nullptr : &*found;
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TaskKind& kind : task_kinds()) names.push_back(kind.name);
  return names;
}

std::vector<OptionMistake> find_mistakes(const DataOptions& options) {
  OptionChecker checker;
  if (const TaskKind* kind = find_task(options.task)) {
    kind->check(options, checker);
  } else {
    checker.add("task", absl::StrCat("must be one of ", absl::StrJoin(task_names(), ", "),
                                     ", not \"", options.task, "\""));
  }
  return checker.mistakes();
}

absl::StatusOr<std::unique_ptr<Dataset>> make_dataset(const DataOptions& options, uint64_t seed,
                                                      DataForm form) {
  std::string mistakes;
  for (const OptionMistake& mistake : find_mistakes(options)) {
    absl::StrAppend(&mistakes, mistakes.empty() ? "" : "\n", "data.", mistake.key, " ",
                    mistake.message);
  }
  if (!mistakes.empty()) return absl::InvalidArgumentError(mistakes);
  const TaskKind& kind = *find_task(options.task);
  if (std::ranges::count(kind.forms, form) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.task \"", options.task, "\" does not provide ", name_of(form)));
  }
  return kind.make(options, seed, form);
}

}  // namespace qkv
