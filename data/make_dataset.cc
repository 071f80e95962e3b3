#include "absl/strings/str_cat.h"
#include "data/dataset.h"
#include "data/sources.h"
#include "data/task.h"
#include "framework/core/error.h"

namespace qkv {

Task make_task(const DataOptions& options) {
  const std::string& name = options.task;
  if (name == "copy") return copy_task(options);
  if (name == "reverse") return reverse_task(options);
  if (name == "sort") return sort_task(options);
  if (name == "parity") return parity_task(options);
  if (name == "addition") return addition_task(options);
  if (name == "modular_addition") return modular_addition_task(options);
  if (name == "associative_recall") return associative_recall_task(options);
  if (name == "induction") return induction_task(options);
  fail(absl::StrCat("make_task: there is no task \"", name, "\""));
}

absl::StatusOr<std::unique_ptr<Dataset>> make_dataset(const DataOptions& options, uint64_t seed) {
  std::string mistakes;
  for (const OptionMistake& mistake : find_mistakes(options)) {
    absl::StrAppend(&mistakes, mistakes.empty() ? "" : "\n", "data.", mistake.key, " ",
                    mistake.message);
  }
  if (!mistakes.empty()) return absl::InvalidArgumentError(mistakes);

  if (options.task == "text") return make_text_dataset(options, seed);
  if (options.task == "lines") return make_lines_dataset(options, seed);
  return make_task_dataset(options, make_task(options), seed);
}

}  // namespace qkv
