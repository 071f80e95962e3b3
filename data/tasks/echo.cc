#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

Task make_echo(const DataOptions& options) {
  Task task;
  task.token_texts = symbol_texts(options.alphabet);
  task.training = task.validation = {.prompt = options.distance,
                                     .answer = options.length - options.distance,
                                     .both = options.length};
  task.draw = [options](Split, Choices& choices) {
    Example example;
    for (int64_t i = 0; i < options.distance; ++i) {
      example.prompt.push_back(choices.below(options.alphabet));
    }
    for (int64_t i = 0; i < options.length - options.distance; ++i) {
      example.answer.push_back(example.prompt[i % options.distance]);
    }
    return example;
  };
  task.decisions = [](Split, const Tokens& prompt) { return prompt; };
  return task;
}

void check_echo(const DataOptions& options, OptionChecker& check) {
  check.range("alphabet", options.alphabet, 2, kMaxAlphabet);
  check.range("length", options.length, 2, kMaxLength);
  check.range("distance", options.distance, 1, std::max<int64_t>(1, options.length - 1));
}

int64_t answer_length_echo(const DataOptions& options, int64_t prompt_length) {
  return std::max<int64_t>(1, options.length - prompt_length);
}

}  // namespace

// 3141592 3141592 3141: `distance` random symbols, which come again and again until there are
// `length`. Each symbol of the answer is the one that stands `distance` before it: a dependency of
// one known reach, and of no other.
TaskKind echo_task() {
  return question_task({.name = "echo",
                        .keys = {"alphabet", "length", "distance"},
                        .check = check_echo,
                        .make = make_echo,
                        .answer_length = answer_length_echo});
}

}  // namespace qkv
