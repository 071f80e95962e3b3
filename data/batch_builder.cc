#include "data/batch_builder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

class Rows {
 public:
  Rows(int64_t rows, int64_t length, int64_t filling) : array_(Shape{rows, length}, DType::i64) {
    std::fill_n(array_.mutable_data<int64_t>(), array_.size(), filling);
  }

  void set(int64_t row, std::span<const int64_t> tokens) {
    const int64_t length = array_.shape()[1];
    if (std::ssize(tokens) > length) {
      fail(absl::StrCat("batch: ", tokens.size(), " tokens do not fit row ", row, " of ",
                        array_.describe()));
    }
    std::ranges::copy(tokens, array_.mutable_data<int64_t>() + row * length);
  }

  const Array& array() const { return array_; }

 private:
  Array array_;
};

Batch sequences(const std::vector<Example>& examples, const QuestionLengths& longest,
                int64_t padding) {
  BatchBuilder builder(std::ssize(examples), longest.both - 1, padding);
  int64_t row = 0;
  for (const Example& example : examples) {
    std::vector<int64_t> sequence = example.prompt;
    sequence.insert(sequence.end(), example.answer.begin(), example.answer.end());
    builder.set_row(row++, sequence, std::ssize(example.prompt), example.asked_in_prompt);
  }
  return builder.batch();
}

// The prompts, and where one is shorter than the others their padding.
std::vector<Array> prompts(const std::vector<Example>& examples, int64_t length, int64_t padding) {
  Rows tokens(std::ssize(examples), length, padding);
  Array padded(tokens.array().shape(), DType::boolean);
  bool any_padded = false;
  bool* is_padding = padded.mutable_data<bool>();
  int64_t row = 0;
  for (const Example& example : examples) {
    tokens.set(row++, example.prompt);
    const int64_t held = std::ssize(example.prompt);
    std::fill_n(is_padding, held, false);
    std::fill_n(is_padding + held, length - held, true);
    is_padding += length;
    any_padded = any_padded || held < length;
  }
  std::vector<Array> inputs = {tokens.array()};
  if (any_padded) inputs.push_back(padded);
  return inputs;
}

Batch sources_and_targets(const std::vector<Example>& examples, const QuestionLengths& longest,
                          int64_t padding) {
  Rows target(std::ssize(examples), longest.answer, padding);
  Rows wanted(std::ssize(examples), longest.answer, kIgnoredTarget);
  int64_t row = 0;
  for (const Example& example : examples) {
    std::vector<int64_t> read = {example.prompt.back()};
    read.insert(read.end(), example.answer.begin(), example.answer.end() - 1);
    target.set(row, read);
    wanted.set(row++, example.answer);
  }
  Batch batch{.inputs = prompts(examples, longest.prompt, padding), .targets = wanted.array()};
  batch.inputs.insert(batch.inputs.begin() + 1, target.array());
  return batch;
}

Batch classes(const std::vector<Example>& examples, const QuestionLengths& longest,
              int64_t padding) {
  Array targets({std::ssize(examples)}, DType::i64);
  std::ranges::transform(examples, targets.mutable_data<int64_t>(),
                         [](const Example& example) { return example.answer.front(); });
  return {.inputs = prompts(examples, longest.prompt, padding), .targets = targets};
}

}  // namespace

BatchBuilder::BatchBuilder(int64_t rows, int64_t length, int64_t padding) {
  if (rows < 1 || length < 1) {
    fail(absl::StrCat("batch: ", rows, " rows of ", length, " tokens: both must be at least 1"));
  }
  inputs_ = Array(Shape{rows, length}, DType::i64);
  targets_ = Array(Shape{rows, length}, DType::i64);
  std::fill_n(inputs_.mutable_data<int64_t>(), rows * length, padding);
  std::fill_n(targets_.mutable_data<int64_t>(), rows * length, kIgnoredTarget);
}

void BatchBuilder::set_row(int64_t row, std::span<const int64_t> sequence, int64_t first_target,
                           std::span<const size_t> earlier) {
  const int64_t length = inputs_.shape()[1];
  const auto tokens = static_cast<int64_t>(sequence.size());
  if (row < 0 || row >= inputs_.shape()[0] || tokens < 2 || tokens > length + 1) {
    fail(absl::StrCat("batch: a sequence of ", tokens, " tokens does not fit row ", row, " of ",
                      inputs_.describe()));
  }
  std::copy(sequence.begin(), sequence.end() - 1, inputs_.mutable_data<int64_t>() + row * length);
  const int64_t first = std::max<int64_t>(first_target, 1);
  int64_t* targets = targets_.mutable_data<int64_t>() + row * length;
  std::copy(sequence.begin() + first, sequence.end(), targets + first - 1);
  for (const size_t place : earlier) targets[place - 1] = sequence[place];
}

void check_validation_range(int64_t first, int64_t count, int64_t size) {
  if (first < 0 || count < 1 || first > size - count) {
    fail(absl::StrCat("validation_batch: examples ", first, " … ", first + count - 1,
                      " are out of range: there are ", size));
  }
}

void check_training_batch(int64_t index, int64_t batch_size) {
  if (index < 0 || batch_size < 1) {
    fail(absl::StrCat("training_batch: index ", index, " and batch_size ", batch_size,
                      ": must be at least 0 and 1"));
  }
}

DataShape shape_of(const QuestionLengths& longest, int64_t vocabulary_size, DataForm form) {
  DataShape shape = {.vocabulary_size = vocabulary_size};
  switch (form) {
    case DataForm::kSequence:
      shape.max_length = longest.both - 1;
      break;
    case DataForm::kSourceTarget:
      shape.max_length = longest.answer;
      shape.source_length = longest.prompt;
      break;
    case DataForm::kClass:
      shape.max_length = longest.prompt;
      shape.classes = vocabulary_size;
      break;
  }
  return shape;
}

Batch question_batch(DataForm form, const std::vector<Example>& examples,
                     const QuestionLengths& longest, int64_t padding) {
  switch (form) {
    case DataForm::kSequence:
      return sequences(examples, longest, padding);
    case DataForm::kSourceTarget:
      return sources_and_targets(examples, longest, padding);
    case DataForm::kClass:
      return classes(examples, longest, padding);
  }
  fail("question_batch: unknown DataForm");
}

}  // namespace qkv
