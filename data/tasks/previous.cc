#include <algorithm>

#include "absl/strings/str_cat.h"
#include "data/tasks/symbols.h"
#include "data/tasks/tasks.h"

namespace qkv {
namespace {

Task make(const DataOptions& options) {
  Task task;
  task.token_texts = symbol_texts(options.alphabet);
  task.token_texts.emplace_back("=");
  task.training =
      task.validation = {.prompt = options.length + 2, .answer = 1, .both = options.length + 3};
  task.draw = [options](Split, Choices& choices) {
    Example example;
    example.prompt = draw_distinct(options.length, options.alphabet, choices);
    const auto asked = static_cast<size_t>(choices.between(1, options.length - 1));
    example.answer = {example.prompt[asked - 1]};
    const int64_t symbol = example.prompt[asked];
    example.prompt.push_back(options.alphabet);
    example.prompt.push_back(symbol);
    return example;
  };
  return task;
}

void check(const DataOptions& options, OptionChecker& check) {
  check.range("alphabet", options.alphabet, 2, kMaxAlphabet);
  check.range("length", options.length, 2, kMaxLength);
  if (options.alphabet <= kMaxAlphabet && options.alphabet < options.length) {
    check.add("alphabet",
              absl::StrCat("must be at least the length, ", options.length,
                           ", because its symbols are all different, not ", options.alphabet));
  }
}

}  // namespace

// qfmxr=mf: different symbols, then one of them, and what is asked for is the one that stood before
// it. Who looks at both neighbours and cannot tell them apart is right half of the time.
TaskKind previous_task() {
  return question_task(
      {.name = "previous", .keys = {"alphabet", "length"}, .check = check, .make = make});
}

}  // namespace qkv
