// Tasks whose answer must be looked up in the context: where something was seen before, what stood
// next to it? One layer of attention can find the earlier place or look at the neighbour of a known
// place, but not both, so it needs two layers (Olsson et al. 2022, "In-context learning and
// induction heads").

#include <numeric>

#include "data/task.h"

namespace qkv {
namespace {

using Tokens = std::vector<int64_t>;

// `count` different numbers of 0 … bound - 1, in random order.
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

}  // namespace

// cKaFdBbM=aF: `pairs` pairs of a key and its value, then a key, and what is asked for is its
// value. Keys are lower-case letters, all different; values are upper-case letters, any of them.
Task associative_recall_task(const DataOptions& options) {
  const int64_t alphabet = options.alphabet;
  const int64_t pairs = options.pairs;
  const int64_t separator = 2 * alphabet;

  Task task;
  for (const char first : {'a', 'A'}) {
    for (int64_t i = 0; i < alphabet; ++i) {
      task.token_texts.emplace_back(1, static_cast<char>(first + i));
    }
  }
  task.token_texts.emplace_back("=");
  task.training_length = task.validation_length = 2 * pairs + 3;

  task.draw = [alphabet, pairs, separator](Split, Choices& choices) {
    const Tokens keys = draw_distinct(pairs, alphabet, choices);
    Tokens values;
    Example example;
    for (const int64_t key : keys) {
      values.push_back(alphabet + choices.below(alphabet));
      example.prompt.push_back(key);
      example.prompt.push_back(values.back());
    }
    const auto asked = static_cast<size_t>(choices.below(pairs));
    example.prompt.push_back(separator);
    example.prompt.push_back(keys[asked]);
    example.answer = {values[asked]};
    return example;
  };
  return task;
}

// qfmxqfmxqf: a segment of different symbols, repeated until the sequence is twice the greatest
// length. Asked for is everything after the first symbol of the first repetition (here: fmxqf).
// The length of the segment is drawn from min_length … length, so that no fixed distance back leads
// to the answer.
Task induction_task(const DataOptions& options) {
  const int64_t longest_validation =
      options.validation_length != 0 ? options.validation_length : options.length;

  Task task;
  task.token_texts = symbol_texts(options.alphabet);
  task.training_length = 2 * options.length;
  task.validation_length = 2 * longest_validation;

  task.draw = [options, training_length = task.training_length,
               validation_length = task.validation_length](Split split, Choices& choices) {
    const int64_t length = draw_length(options, split, choices);
    const Tokens segment = draw_distinct(length, options.alphabet, choices);
    Example example;
    const int64_t total = split == Split::kTraining ? training_length : validation_length;
    for (int64_t i = 0; i < total; ++i) {
      Tokens& part = i <= length ? example.prompt : example.answer;
      part.push_back(segment[static_cast<size_t>(i % length)]);
    }
    return example;
  };
  return task;
}

}  // namespace qkv
