#include "data/tasks/tasks.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/file.h"
#include "framework/core/each_of.h"

namespace qkv {

std::span<TaskKind (*const)()> each_task();

namespace {

void check_one_path(const char* key, const DataOptions& options, const std::string& paths,
                    OptionChecker& checker) {
  if (!is_list_of_paths(paths)) return;
  checker.add(key, "is a list, but the task \"", options.task, "\" reads one path");
}

}  // namespace

const std::vector<TaskKind>& task_kinds() {
  static const auto& kinds =
      *new auto(each_of(each_task(), [](const auto task) { return task(); }));
  return kinds;
}

const TaskKind* find_task(const std::string& name) {
  const auto found = std::ranges::find(task_kinds(), name, &TaskKind::name);
  return found == task_kinds().end() ? nullptr : &*found;
}

std::vector<std::string> task_names() { return each_of(task_kinds(), &TaskKind::name); }

std::vector<OptionMistake> find_mistakes(const DataOptions& options) {
  OptionChecker checker;
  if (const TaskKind* kind = find_task(options.task)) {
    kind->check(options, checker);
    if (!kind->reads_many_files) {
      check_one_path("path", options, options.path, checker);
      check_one_path("validation_path", options, options.validation_path, checker);
    }
  } else {
    checker.add("task", "must be one of ", absl::StrJoin(task_names(), ", "), ", not \"",
                options.task, "\"");
  }
  return checker.mistakes();
}

absl::StatusOr<std::unique_ptr<Dataset>> make_dataset(const DataOptions& options, uint64_t seed,
                                                      DataForm form, const Wait& wait) {
  std::string mistakes;
  for (const OptionMistake& mistake : find_mistakes(options)) {
    absl::StrAppend(&mistakes, mistakes.empty() ? "" : "\n", "data.", mistake.key, " ",
                    mistake.message);
  }
  if (!mistakes.empty()) return absl::InvalidArgumentError(mistakes);
  const TaskKind& kind = *find_task(options.task);
  if (std::ranges::count(kind.forms, form) == 0) {
    return invalid_argument("data.task \"", options.task, "\" does not provide ", name_of(form));
  }
  return kind.make(options, seed, form, wait);
}

}  // namespace qkv
