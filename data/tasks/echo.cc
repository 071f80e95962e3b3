#include <algorithm>

#include "data/tasks/symbols.h"
#include "data/tasks/tasks.h"

namespace qkv {
namespace {

int64_t symbols_of(const DataOptions& options) {
  return options.symbols > 0 ? options.symbols : options.distance;
}

// From the first symbol of repetition number `index` to that of the next.
int64_t distance_after(const DataOptions& options, int64_t index) {
  if (options.growth == 0) return options.distance;
  return std::min(options.distance, symbols_of(options) + index * options.growth);
}

Task make(const DataOptions& options) {
  Task task;
  task.token_texts = symbol_texts(options.alphabet);
  const int64_t blank = options.alphabet, prompt_length = distance_after(options, 0);
  if (symbols_of(options) < options.distance) task.token_texts.emplace_back(".");
  task.training = task.validation = {
      .prompt = prompt_length, .answer = options.length - prompt_length, .both = options.length};
  task.draw = [options, blank, prompt_length](Split, Choices& choices) {
    Tokens row;
    for (int64_t i = 0; i < symbols_of(options); ++i)
      row.push_back(choices.below(options.alphabet));
    row.resize(static_cast<size_t>(options.length), blank);
    const auto symbols = row.begin() + std::min(symbols_of(options), options.length);
    int64_t place = 0;
    for (int64_t i = 0; (place += distance_after(options, i)) < options.length; ++i) {
      std::copy_n(row.begin(), std::min(symbols - row.begin(), options.length - place),
                  row.begin() + place);
    }
    return Example{.prompt = Tokens(row.begin(), row.begin() + prompt_length),
                   .answer = Tokens(row.begin() + prompt_length, row.end())};
  };
  return task;
}

void check(const DataOptions& options, OptionChecker& check) {
  check.range("alphabet", options.alphabet, 2, kMaxAlphabet);
  check.range("length", options.length, 2, kMaxLength);
  check.range("distance", options.distance, 1, std::max<int64_t>(1, options.length - 1));
  check.range("symbols", options.symbols, 0, std::max<int64_t>(1, options.distance));
  check.range("growth", options.growth, 0, kMaxLength);
}

int64_t answer_length(const DataOptions& options, int64_t prompt_length) {
  return std::max<int64_t>(1, options.length - prompt_length);
}

}  // namespace

// 3141592 3141592 3141: `distance` random symbols, which come again and again until there are
// `length`. Each symbol of the answer is the one that stands `distance` before it: a dependency of
// one known reach, and of no other. Of 314.... 314.... 314, with 3 `symbols`, the rest are blanks.
// With a `growth` of 2 the distance is that of 314 314.. 314.... 314.... at first, and grows until
// it is `distance`.
TaskKind echo_task() {
  return question_task({.name = "echo",
                        .keys = {"alphabet", "length", "distance", "symbols", "growth"},
                        .check = check,
                        .make = make,
                        .answer_length = answer_length});
}

}  // namespace qkv
