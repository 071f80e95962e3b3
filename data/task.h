#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/choices.h"
#include "data/dataset.h"
#include "data/options.h"
#include "data/split.h"

namespace qkv {

// A kind of question with one right answer. A sequence is prompt + answer; the prompt is the
// question with its separator.
struct Task {
  std::vector<std::string> token_texts;

  // The longest sequence of each split, in tokens. Where sequences are shorter, they are padded
  // with the last token, which stands for nothing else.
  int64_t training_length = 0;
  int64_t validation_length = 0;

  bool validate_on_all = false;  // on every question that is held out, however many

  // Makes one example. Different decisions make different questions, and every question of the
  // split's lengths can come out.
  std::function<Example(Split, Choices&)> draw;
};

// Options must be free of mistakes (find_mistakes).
Task make_task(const DataOptions& options);

// The tasks, each documented where it is made.
Task copy_task(const DataOptions& options);
Task reverse_task(const DataOptions& options);
Task sort_task(const DataOptions& options);
Task parity_task(const DataOptions& options);
Task addition_task(const DataOptions& options);
Task modular_addition_task(const DataOptions& options);
Task associative_recall_task(const DataOptions& options);
Task induction_task(const DataOptions& options);

// `count` single characters: 0-9, or where that is too few the first of a-z, A-Z, 0-9.
std::vector<std::string> symbol_texts(int64_t count);

// How long the question of one example is.
int64_t draw_length(const DataOptions& options, Split split, Choices& choices);

}  // namespace qkv
