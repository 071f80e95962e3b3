#include "data/listed_dataset.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace qkv {

ListedDataset::ListedDataset(Vocabulary vocabulary, ExampleLists examples, Options options)
    : Dataset(std::move(vocabulary), options.form, options.class_names),
      examples_(std::move(examples)),
      options_(std::move(options)),
      stream_(options_.seed) {
  for (const auto* list : {&examples_.training, &examples_.validation}) {
    for (const Example& example : *list) {
      const int64_t prompt = std::ssize(example.prompt), answer = std::ssize(example.answer);
      longest_.prompt = std::max(longest_.prompt, prompt);
      longest_.answer = std::max(longest_.answer, answer);
      longest_.both = std::max(longest_.both, prompt + answer);
    }
  }
}

DataShape ListedDataset::shape() const {
  DataShape shape = shape_of(longest_, vocabulary().size(), form());
  if (form() == DataForm::kClass) shape.classes = std::ssize(class_names());
  shape.max_length = std::max(shape.max_length, options_.context);
  if (shape.source_length > 0) {
    shape.source_length = std::max(shape.source_length, options_.context);
  }
  return shape;
}

Batch ListedDataset::training_batch(int64_t index, int64_t batch_size) const {
  check_training_batch(index, batch_size);
  const std::vector<Example>& all = examples_.training;
  if (training_size() <= batch_size) {
    return question_batch(form(), all, longest_, options_.padding);
  }
  const RandomStream stream = stream_.derive(options_.draws).derive(static_cast<uint64_t>(index));
  std::vector<Example> examples;
  for (int64_t row = 0; row < batch_size; ++row) {
    examples.push_back(all[stream.derive(static_cast<uint64_t>(row)).below(all.size())]);
  }
  return question_batch(form(), examples, longest_, options_.padding);
}

Batch ListedDataset::validation_batch(int64_t first, int64_t count) const {
  check_validation_range(first, count, validation_size());
  const auto begin = examples_.validation.begin() + first;
  return question_batch(form(), {begin, begin + count}, longest_, options_.padding);
}

Example ListedDataset::validation_example(int64_t index) const {
  check_validation_range(index, 1, validation_size());
  return examples_.validation[index];
}

std::optional<std::vector<int64_t>> ListedDataset::answer_to(
    const std::vector<int64_t>& prompt) const {
  if (!has_answers()) return std::nullopt;
  for (const auto* list : {&examples_.validation, &examples_.training}) {
    const auto found = std::ranges::find(*list, prompt, &Example::prompt);
    if (found != list->end()) return found->answer;
  }
  return std::nullopt;
}

QuestionLengths limits_of(const DataShape& shape, DataForm form) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  switch (form) {
    case DataForm::kSequence:
      return {.prompt = kAny, .answer = kAny, .both = shape.max_length + 1};
    case DataForm::kSourceTarget:
      return {.prompt = shape.source_length, .answer = shape.max_length, .both = kAny};
    default:
      return {.prompt = shape.max_length, .answer = kAny, .both = kAny};
  }
}

}  // namespace qkv
