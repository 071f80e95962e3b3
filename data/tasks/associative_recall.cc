// Tasks whose answer must be looked up in the context, this one and induction: where was something
// seen before, what stood next to it? One layer of attention can find the earlier place or look at
// the neighbour of a known place, but not both, so it needs two layers (Olsson et al. 2022,
// "In-context learning and induction heads").

#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

constexpr int64_t kMaxLetters = 26;  // keys a-z, values A-Z

Task make_associative_recall(const DataOptions& options) {
  const int64_t alphabet = options.alphabet;
  const int64_t pairs = options.pairs;
  const int64_t separator = 2 * alphabet;

  Task task;
  for (const char first : {'a', 'A'}) {
    for (int64_t i = 0; i < alphabet; ++i) {
      task.token_texts.emplace_back(1, static_cast<char>(first + i));
    }
  }
  task.token_texts.emplace_back("=");
  task.training = task.validation = {.prompt = 2 * pairs + 2, .answer = 1, .both = 2 * pairs + 3};

  task.draw = [alphabet, pairs, separator](Split, Choices& choices) {
    const Tokens keys = draw_distinct(pairs, alphabet, choices);
    Tokens values;
    Example example;
    for (const int64_t key : keys) {
      values.push_back(alphabet + choices.below(alphabet));
      example.prompt.push_back(key);
      example.prompt.push_back(values.back());
    }
    const auto asked = static_cast<size_t>(choices.below(pairs));
    example.prompt.push_back(separator);
    example.prompt.push_back(keys[asked]);
    example.answer = {values[asked]};
    return example;
  };
  task.decisions = [alphabet](Split, const Tokens& prompt) {
    Tokens keys, values;
    for (size_t i = 0; i + 2 < prompt.size(); ++i) {
      if (i % 2 == 0) keys.push_back(prompt[i]);
      if (i % 2 == 1) values.push_back(prompt[i] - alphabet);
    }
    const int64_t asked = std::ranges::find(keys, prompt.back()) - keys.begin();
    Tokens decisions = decisions_of_distinct(keys, alphabet);
    decisions.insert(decisions.end(), values.begin(), values.end());
    decisions.push_back(asked);
    return decisions;
  };
  return task;
}

void check_associative_recall(const DataOptions& options, OptionChecker& check) {
  check.range("alphabet", options.alphabet, 2, kMaxLetters);
  check.range("pairs", options.pairs, 1, kMaxLetters);
  if (options.alphabet >= 2 && options.pairs <= kMaxLetters && options.pairs > options.alphabet) {
    check.add("pairs", "must be at most the alphabet, ", options.alphabet,
              ", because the keys are all different, not ", options.pairs);
  }
}

}  // namespace

// cKaFdBbM=aF: `pairs` pairs of a key and its value, then a key; the answer is its value. Keys are
// lower-case letters, all different; values are upper-case letters, any of them.
TaskKind associative_recall_task() {
  return question_task({.name = "associative_recall",
                        .keys = {"alphabet", "pairs"},
                        .check = check_associative_recall,
                        .make = make_associative_recall});
}

}  // namespace qkv
