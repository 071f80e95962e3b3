// Tasks that turn a row of symbols into an answer. The ids of the symbols are 0 … alphabet - 1,
// then comes the separator "=", and where lengths vary the padding "_".

#include <algorithm>
#include <numeric>
#include <span>

#include "data/task.h"

namespace qkv {
namespace {

using Tokens = std::vector<int64_t>;

// A task whose question is `length` random symbols of `alphabet`, of which `answer` is a function.
Task sequence_task(const DataOptions& options, int64_t alphabet,
                   std::function<Tokens(std::span<const int64_t>)> answer) {
  const bool lengths_vary = options.min_length != 0 && options.min_length < options.length;
  const int64_t separator = alphabet;

  Task task;
  task.token_texts = symbol_texts(alphabet);
  task.token_texts.emplace_back("=");
  if (lengths_vary) task.token_texts.emplace_back("_");

  const auto sequence_length = [&answer](int64_t length) {
    const Tokens question(static_cast<size_t>(length), 0);
    return length + 1 + static_cast<int64_t>(answer(question).size());
  };
  task.training_length = sequence_length(options.length);
  task.validation_length = options.validation_length != 0
                               ? sequence_length(options.validation_length)
                               : task.training_length;

  task.draw = [options, alphabet, separator, answer](Split split, Choices& choices) {
    Tokens question(static_cast<size_t>(draw_length(options, split, choices)));
    for (int64_t& symbol : question) symbol = choices.below(alphabet);
    Example example;
    example.answer = answer(question);
    example.prompt = std::move(question);
    example.prompt.push_back(separator);
    return example;
  };
  return task;
}

}  // namespace

// 31415=31415
Task copy_task(const DataOptions& options) {
  return sequence_task(options, options.alphabet, [](std::span<const int64_t> question) {
    return Tokens(question.begin(), question.end());
  });
}

// 31415=51413
Task reverse_task(const DataOptions& options) {
  return sequence_task(options, options.alphabet, [](std::span<const int64_t> question) {
    return Tokens(question.rbegin(), question.rend());
  });
}

// 31415=11345
Task sort_task(const DataOptions& options) {
  return sequence_task(options, options.alphabet, [](std::span<const int64_t> question) {
    Tokens sorted(question.begin(), question.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  });
}

// 10110=1: whether the number of ones is odd.
Task parity_task(const DataOptions& options) {
  return sequence_task(options, 2, [](std::span<const int64_t> question) {
    return Tokens{std::accumulate(question.begin(), question.end(), int64_t{0}) % 2};
  });
}

std::vector<std::string> symbol_texts(int64_t count) {
  const std::string characters =
      count <= 10 ? "0123456789" : "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::vector<std::string> texts;
  for (const char c : characters.substr(0, static_cast<size_t>(count))) texts.emplace_back(1, c);
  return texts;
}

int64_t draw_length(const DataOptions& options, Split split, Choices& choices) {
  if (split == Split::kValidation && options.validation_length != 0) {
    return options.validation_length;
  }
  if (options.min_length == 0) return options.length;
  return choices.between(options.min_length, options.length);
}

}  // namespace qkv
