#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/text/vocabulary.h"
#include "framework/core/array.h"
#include "framework/nn/data_shape.h"

namespace qkv {

// The target of a position that has no loss.
inline constexpr int64_t kIgnoredTarget = -1;

// Examples, one in each row of every array, in one of the forms of framework/nn/data_shape.h. The
// target of a token is the one after it. Where only the answer counts, all other targets are
// kIgnoredTarget.
struct Batch {
  // The input of a model: sequences i64 [B, T], or images f32 [B, channels, height, width].
  std::vector<Array> inputs;
  Array targets;  // i64, with the shape of the logits without their last axis

  int64_t rows() const { return targets.shape()[0]; }  // B
  // The tokens of the input; an image counts as one.
  int64_t tokens() const {
    if (inputs.front().dtype() != DType::i64) return rows();
    int64_t count = 0;
    for (const Array& input : inputs) {
      if (input.dtype() == DType::i64) count += input.size();
    }
    return count;
  }
};

// One example for people to look at, and for a model to be asked.
struct Example {
  std::vector<int64_t> prompt;  // the question: empty only for images
  std::vector<int64_t> answer;  // never empty
  // Positions in the prompt whose token is a target, too, when a model reads a sequence.
  std::vector<size_t> asked_in_prompt = {};
};

// A source of examples in two disjoint parts: training and validation.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // For images, the class names.
  const Vocabulary& vocabulary() const { return vocabulary_; }

  // The names of the answers where the form is kClass: those of the tokens, unless others are
  // given.
  const std::vector<std::string>& class_names() const {
    return class_names_.empty() ? vocabulary_.texts() : class_names_;
  }
  // An answer as people read it: tokens, or a class.
  std::string answer_text(std::span<const int64_t> answer) const {
    if (class_names_.empty()) return vocabulary_.decode(answer);
    return class_names_.at(static_cast<size_t>(answer.front()));
  }

  DataForm form() const { return form_; }

  // Its lengths are the longest of any batch: a table of positions must hold them. Training batches
  // all have one length and validation batches all have one, and the two may differ.
  virtual DataShape shape() const = 0;

  // Whether examples are questions with one right answer (the tasks, images), so that accuracy
  // means something, or text with many continuations.
  virtual bool has_answers() const = 0;

  // Whether the last target of each example only ends its answer: a model learns it, but it does
  // not belong to the answer.
  virtual bool has_endings() const { return false; }

  // A function of (seed, index) alone: a resumed run sees the batches that it would have seen. Row
  // r depends on (seed, index, r) alone. Where the whole training part has no more than
  // `batch_size` examples it is the batch, each example once: then B is training_size(). Throws
  // Error on a negative index or a batch_size below 1.
  virtual Batch training_batch(int64_t index, int64_t batch_size) const = 0;

  // How many different examples training has, or 0: too many to count.
  virtual int64_t training_size() const { return 0; }

  // The validation examples first … first + count - 1; all of them are different. Throws Error
  // outside of 0 … validation_size().
  virtual int64_t validation_size() const = 0;
  virtual Batch validation_batch(int64_t first, int64_t count) const = 0;
  virtual Example validation_example(int64_t index) const = 0;

  // The right answer to a question that may stand in either part; none if unknown or missing.
  virtual std::optional<std::vector<int64_t>> answer_to(
      const std::vector<int64_t>& /*prompt*/) const {
    return std::nullopt;
  }

  // Tells the text of a file from others, whatever is made of it: where options, seed and
  // fingerprint are equal, so is every batch. "": options and seed say it all.
  virtual std::string fingerprint() const { return ""; }

  // Notes on how it was read: the parts left out.
  virtual std::vector<std::string> notes() const { return {}; }

 protected:
  explicit Dataset(Vocabulary vocabulary, DataForm form = DataForm::kSequence,
                   std::vector<std::string> class_names = {})
      : vocabulary_(std::move(vocabulary)), form_(form), class_names_(std::move(class_names)) {}

 private:
  Vocabulary vocabulary_;
  DataForm form_;
  std::vector<std::string> class_names_;  // none: the tokens
};

}  // namespace qkv
