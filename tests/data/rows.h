#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/tasks/tasks.h"

namespace qkv {

// One row of a batch, read back with nothing but the vocabulary.
struct Row {
  std::string inputs;               // all of them, with the padding
  std::vector<std::string> wanted;  // the text of each target; "" where it is ignored
};

inline std::vector<Row> rows_of(const Dataset& dataset, const Batch& batch) {
  const int64_t length = batch.targets.shape()[1];
  std::vector<Row> rows;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const int64_t* inputs = batch.inputs[0].data<int64_t>() + row * length;
    const int64_t* targets = batch.targets.data<int64_t>() + row * length;
    rows.push_back({dataset.vocabulary().decode({inputs, inputs + length}), {}});
    for (int64_t t = 0; t < length; ++t) {
      rows.back().wanted.push_back(
          targets[t] == -1 ? "" : dataset.vocabulary().texts().at(static_cast<size_t>(targets[t])));
    }
  }
  return rows;
}

// The texts of the tokens of `text`.
inline std::vector<std::string> words_of(const Dataset& dataset, const std::string& text) {
  const std::vector<int64_t> tokens = *dataset.vocabulary().encode(text);
  std::vector<std::string> words;
  for (const int64_t token : tokens) {
    words.push_back(dataset.vocabulary().texts()[static_cast<size_t>(token)]);
  }
  return words;
}

// In the first form that the task can be had in.
inline absl::StatusOr<std::unique_ptr<Dataset>> make_in_first_form(const DataOptions& options,
                                                                   uint64_t seed) {
  const TaskKind* task = find_task(options.task);
  return make_dataset(options, seed, task == nullptr ? DataForm::kSequence : task->forms.front());
}

inline std::unique_ptr<Dataset> dataset_of(const DataOptions& options, uint64_t seed = 1) {
  auto dataset = make_in_first_form(options, seed);
  if (!dataset.ok()) throw std::runtime_error(std::string(dataset.status().message()));
  return *std::move(dataset);
}

inline std::string error_of(const DataOptions& options) {
  const auto dataset = make_in_first_form(options, 1);
  return dataset.ok() ? "no error" : std::string(dataset.status().message());
}

inline bool same(const Batch& a, const Batch& b) {
  return a.inputs[0].shape() == b.inputs[0].shape() &&
         a.inputs[0].to_vector() == b.inputs[0].to_vector() &&
         a.targets.to_vector() == b.targets.to_vector();
}

inline DataOptions shapes(int64_t size = 16) {
  DataOptions options;
  options.task = "shapes";
  options.image_size = size;
  return options;
}

inline std::vector<double> pixels_of(const Batch& batch, int64_t row) {
  const std::vector<double> all = batch.inputs[0].to_vector();
  const int64_t size = std::ssize(all) / batch.rows();
  return {all.begin() + row * size, all.begin() + (row + 1) * size};
}

inline std::string class_of(const Dataset& dataset, const Batch& batch, int64_t row) {
  return dataset.vocabulary().decode({batch.targets.data<int64_t>() + row, 1});
}

}  // namespace qkv
