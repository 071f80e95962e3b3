#include "data/tasks/symbols.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace qkv {
namespace {

Task make_task(const DataOptions& options, const SequenceTask& sequence, int64_t alphabet) {
  const bool lengths_vary = options.min_length != 0 && options.min_length < options.length;
  Task task;
  task.token_texts = symbol_texts(alphabet);
  task.token_texts.emplace_back("=");
  if (lengths_vary) task.token_texts.emplace_back("_");
  const auto lengths = [&](int64_t length) {
    const int64_t prompt = length + 1;
    const int64_t answer = sequence.answer_length ? sequence.answer_length(length) : 1;
    return QuestionLengths{.prompt = prompt, .answer = answer, .both = prompt + answer};
  };
  task.training = lengths(options.length);
  task.validation = lengths(longest_validation(options));
  task.draw = [options, alphabet, answer = sequence.answer](Split split, Choices& choices) {
    Tokens question(static_cast<size_t>(draw_length(options, split, choices)));
    for (int64_t& symbol : question) symbol = choices.below(alphabet);
    Example example;
    example.answer = answer(question);
    example.prompt = std::move(question);
    example.prompt.push_back(alphabet);
    return example;
  };
  task.decisions = [options](Split split, const Tokens& prompt) {
    Tokens decisions = decisions_of_length(options, split, std::ssize(prompt) - 1);
    decisions.insert(decisions.end(), prompt.begin(), prompt.end());
    return decisions;
  };
  return task;
}

}  // namespace

std::vector<std::string> symbol_texts(int64_t count) {
  const std::string characters =
      count <= 10 ? "0123456789" : "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::vector<std::string> texts;
  for (const char c : characters.substr(0, static_cast<size_t>(count))) texts.emplace_back(1, c);
  return texts;
}

Tokens draw_distinct(int64_t count, int64_t bound, Choices& choices) {
  Tokens left(static_cast<size_t>(bound));
  std::iota(left.begin(), left.end(), 0);
  for (int64_t i = 0; i < count; ++i) {
    std::swap(left[static_cast<size_t>(i)],
              left[static_cast<size_t>(choices.between(i, bound - 1))]);
  }
  left.resize(static_cast<size_t>(count));
  return left;
}

Tokens decisions_of_distinct(std::span<const int64_t> drawn, int64_t bound) {
  Tokens left(static_cast<size_t>(bound));
  std::iota(left.begin(), left.end(), 0);
  Tokens decisions;
  for (auto next = left.begin(); const int64_t number : drawn) {
    const auto found = std::find(next, left.end(), number);
    if (found == left.end()) break;  // not drawn so
    decisions.push_back(found - next);
    std::iter_swap(next++, found);
  }
  return decisions;
}

int64_t draw_length(const DataOptions& options, Split split, Choices& choices) {
  if (split == Split::kValidation && options.validation_length != 0) {
    return options.validation_length;
  }
  if (options.min_length == 0) return options.length;
  return choices.between(options.min_length, options.length);
}

Tokens decisions_of_length(const DataOptions& options, Split split, int64_t length) {
  const bool is_given =
      (split == Split::kValidation && options.validation_length != 0) || options.min_length == 0;
  return is_given ? Tokens() : Tokens{length - options.min_length};
}

int64_t longest_validation(const DataOptions& options) {
  return options.validation_length != 0 ? options.validation_length : options.length;
}

void check_lengths(const DataOptions& options, int64_t shortest, OptionChecker& check) {
  check.range("length", options.length, shortest, kMaxLength);
  if (options.min_length != 0) {
    check.range("min_length", options.min_length, shortest, std::max(shortest, options.length));
  }
  if (options.validation_length != 0) {
    check.range("validation_length", options.validation_length, shortest, kMaxLength);
  }
}

TaskKind sequence_task(const SequenceTask& sequence) {
  std::vector<std::string> keys = {"length", "min_length", "validation_length"};
  if (sequence.alphabet == 0) keys.insert(keys.begin(), "alphabet");
  QuestionTask question = {.name = sequence.name,
                           .keys = std::move(keys),
                           .check =
                               [sequence](const DataOptions& options, OptionChecker& check) {
                                 check_lengths(options, 1, check);
                                 if (sequence.alphabet == 0)
                                   check.range("alphabet", options.alphabet, 2, kMaxAlphabet);
                               },
                           .make =
                               [sequence](const DataOptions& options) {
                                 return make_task(
                                     options, sequence,
                                     sequence.alphabet == 0 ? options.alphabet : sequence.alphabet);
                               }};
  if (sequence.answer_length) {
    question.answer_length = [sequence](const DataOptions&, int64_t prompt_length) {
      return sequence.answer_length(std::max<int64_t>(1, prompt_length - 1));
    };
  }
  return question_task(question);
}

}  // namespace qkv
