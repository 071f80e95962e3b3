#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/dataset.h"
#include "framework/core/random.h"

namespace qkv {

// Two lists of examples.
struct ExampleLists {
  std::vector<Example> training, validation;
};

// Questions with answers, or texts, all in memory. Training draws from its list at random.
class ListedDataset final : public Dataset {
 public:
  // `class_names`: the answers of the form kClass; `context`: how much a model is to read at least
  // (as DataShape::max_length), 0: as the longest example needs; `padding` is a token.
  struct Options {
    DataForm form = DataForm::kSequence;
    std::vector<std::string> class_names = {};
    int64_t context = 0;
    int64_t padding = 0;
    bool has_answers = true;
    bool has_endings = false;
    std::string fingerprint = {};
    uint64_t seed = 1;
    const char* draws = "training examples";  // the name of the random numbers that choose
    std::vector<std::string> notes = {};
  };
  ListedDataset(Vocabulary vocabulary, ExampleLists examples, Options options);

  bool has_answers() const override { return options_.has_answers; }
  bool has_endings() const override { return options_.has_endings; }
  DataShape shape() const override;
  std::string fingerprint() const override { return options_.fingerprint; }
  std::vector<std::string> notes() const override { return options_.notes; }
  int64_t training_size() const override { return std::ssize(examples_.training); }
  int64_t validation_size() const override { return std::ssize(examples_.validation); }
  Batch training_batch(int64_t index, int64_t batch_size) const override;
  Batch validation_batch(int64_t first, int64_t count) const override;
  Example validation_example(int64_t index) const override;
  std::optional<std::vector<int64_t>> answer_to(const std::vector<int64_t>& prompt) const override;

 private:
  ExampleLists examples_;
  Options options_;
  QuestionLengths longest_;
  RandomStream stream_;
};

// How long questions and answers may be for a model that reads so much.
QuestionLengths limits_of(const DataShape& shape, DataForm form);

}  // namespace qkv
