#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/options.h"
#include "data/vocabulary.h"
#include "framework/core/array.h"
#include "framework/nn/data_shape.h"

namespace qkv {

// The target of a position that has no loss.
inline constexpr int64_t kIgnoredTarget = -1;

// Examples, one in each row of every array. Sequences are for next-token prediction: the target of
// a position is the token after it. Where only the answer counts, all other targets are
// kIgnoredTarget.
struct Batch {
  std::vector<Array> inputs;  // what a model reads; of sequences one: i64 [B, T]; of images one:
                              // f32 [B, channels, height, width]
  Array targets;              // i64 [B, T]; of images their classes, [B]

  int64_t rows() const { return targets.shape()[0]; }  // B
  // Read; an image counts as one.
  int64_t tokens() const {
    const Array& read = inputs.front();
    return read.dtype() == DType::i64 ? read.size() : rows();
  }
};

// One example for people to look at, and for a model to be asked.
struct Example {
  std::vector<int64_t> prompt;  // what is asked: never empty, but of images
  std::vector<int64_t> answer;  // what should follow: never empty
};

// A source of examples in two parts that share none: one to learn from, one to be judged by.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // Of images: the names of their classes.
  const Vocabulary& vocabulary() const { return vocabulary_; }

  virtual DataShape shape() const { return {vocabulary_.size(), context_length()}; }

  // Whether examples are questions with one right answer (the tasks, images), so that accuracy
  // means something, or text that goes on in many ways.
  virtual bool has_answers() const = 0;

  // The longest T of any batch: what a table of positions must hold. Training batches all have one
  // T and validation batches all have one, and the two may differ.
  virtual int64_t context_length() const = 0;

  // A function of (seed, index) alone: a run that stops and goes on sees what it would have seen.
  // Row r depends on (seed, index, r) alone. Where the whole training part has no more than
  // `batch_size` examples it is the batch, each example once: then B is training_size().
  // Throws Error on a negative index or a batch_size below 1.
  virtual Batch training_batch(int64_t index, int64_t batch_size) const = 0;

  // How many different examples training has, or 0: too many to count.
  virtual int64_t training_size() const { return 0; }

  // The validation examples first … first + count - 1; all of them are different. Throws Error
  // outside of 0 … validation_size().
  virtual int64_t validation_size() const = 0;
  virtual Batch validation_batch(int64_t first, int64_t count) const = 0;
  virtual Example validation_example(int64_t index) const = 0;

  // Tells the text of a file from others, whatever is made of it: where options, seed and
  // fingerprint are equal, so is every batch. "": options and seed say it all.
  virtual std::string fingerprint() const { return ""; }

 protected:
  explicit Dataset(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

 private:
  Vocabulary vocabulary_;
};

}  // namespace qkv
