#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

Task make_hold(const DataOptions& options) {
  Task task;
  task.token_texts = symbol_texts(options.alphabet);
  const int64_t blank = std::ssize(task.token_texts), asks = blank + 1;
  task.token_texts.insert(task.token_texts.end(), {".", "="});
  task.training =
      task.validation = {.prompt = options.length - 1, .answer = 1, .both = options.length};
  task.draw = [options, blank, asks](Split split, Choices& choices) {
    // As many as there is room for, which is one at least, and blanks before them.
    const int64_t farthest = options.distance;
    std::vector<int64_t> distances;
    int64_t room = options.length;
    while (true) {
      const int64_t distance = split == Split::kTraining ? choices.between(1, farthest) : farthest;
      if (distance + 2 > room) break;
      distances.push_back(distance);
      room -= distance + 2;
    }
    Example example{.prompt = Tokens(static_cast<size_t>(room), blank), .answer = {}};
    for (const int64_t distance : distances) {
      const int64_t symbol = choices.below(options.alphabet);
      example.prompt.push_back(symbol);
      example.prompt.insert(example.prompt.end(), static_cast<size_t>(distance - 1), blank);
      example.prompt.push_back(asks);
      example.asked_in_prompt.push_back(example.prompt.size());
      example.prompt.push_back(symbol);
    }
    example.answer = {example.prompt.back()};
    example.prompt.pop_back();
    example.asked_in_prompt.pop_back();
    return example;
  };
  task.decisions = [farthest = options.distance, blank, asks](Split split, const Tokens& prompt) {
    Tokens distances, symbols;
    for (size_t i = 0; i < prompt.size(); ++i) {
      if (prompt[i] == blank) continue;
      const auto asked = std::find(prompt.begin() + i, prompt.end(), asks);
      distances.push_back(asked - prompt.begin() - i - 1);
      symbols.push_back(prompt[i]);
      i = static_cast<size_t>(asked - prompt.begin()) + 1;  // the symbol again
    }
    distances.push_back(farthest - 1);  // which does not fit
    Tokens decisions = split == Split::kTraining ? distances : Tokens();
    decisions.insert(decisions.end(), symbols.begin(), symbols.end());
    return decisions;
  };
  return task;
}

void check_hold(const DataOptions& options, OptionChecker& check) {
  check.range("alphabet", options.alphabet, 2, kMaxAlphabet);
  check.range("length", options.length, 3, kMaxLength);
  check.range("distance", options.distance, 1, std::max<int64_t>(1, options.length - 2));
}

}  // namespace

// ..7....=73.=3: symbols, each to be remembered until the next =, 1 … `distance` tokens later, over
// blanks; then it stands there. A question of validation asks always `distance` tokens later. A
// sequence asks many times, and its answer is the last.
TaskKind hold_task() {
  TaskKind kind = question_task({.name = "hold",
                                 .keys = {"alphabet", "length", "distance"},
                                 .check = check_hold,
                                 .make = make_hold});
  kind.forms = {DataForm::kSequence};
  return kind;
}

}  // namespace qkv
