#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

Task make_induction(const DataOptions& options) {
  Task task;
  task.token_texts = symbol_texts(options.alphabet);
  const auto lengths = [](int64_t shortest, int64_t longest) {
    return QuestionLengths{.prompt = longest + 1,  //
                           .answer = 2 * longest - shortest - 1,
                           .both = 2 * longest};
  };
  const int64_t shortest = options.min_length == 0 ? options.length : options.min_length;
  task.training = lengths(shortest, options.length);
  task.validation = lengths(options.validation_length == 0 ? shortest : options.validation_length,
                            longest_validation(options));

  task.draw = [options, training_length = task.training.both,
               validation_length = task.validation.both](Split split, Choices& choices) {
    const int64_t length = draw_length(options, split, choices);
    const Tokens segment = draw_distinct(length, options.alphabet, choices);
    Example example;
    const int64_t total = split == Split::kTraining ? training_length : validation_length;
    for (int64_t i = 0; i < total; ++i) {
      Tokens& part = i <= length ? example.prompt : example.answer;
      part.push_back(segment[i % length]);
    }
    return example;
  };
  task.decisions = [options](Split split, const Tokens& prompt) {
    const int64_t length = std::ssize(prompt) - 1;
    Tokens decisions = decisions_of_length(options, split, length);
    const Tokens order =
        decisions_of_distinct(std::span(prompt).first(prompt.size() - 1), options.alphabet);
    decisions.insert(decisions.end(), order.begin(), order.end());
    return decisions;
  };
  return task;
}

void check_induction(const DataOptions& options, OptionChecker& check) {
  check_lengths(options, 2, check);
  check.range("alphabet", options.alphabet, 2, kMaxAlphabet);
  const int64_t longest = std::max(options.length, options.validation_length);
  if (options.alphabet <= kMaxAlphabet && options.alphabet < longest) {
    check.add("alphabet", "must be at least the longest segment, ", longest,
              ", because its symbols are all different, not ", options.alphabet);
  }
}

// The rest of a sequence of the greatest length.
int64_t answer_length_induction(const DataOptions& options, int64_t prompt_length) {
  const int64_t longest = std::max(options.length, longest_validation(options));
  return std::max<int64_t>(1, 2 * longest - prompt_length);
}

}  // namespace

// qfmxqfmxqf: a segment of different symbols, repeated until the sequence is twice the greatest
// length. Asked for is everything after the first symbol of the first repetition (here: fmxqf).
// The length of the segment is drawn from min_length … length, so that no fixed distance back leads
// to the answer.
TaskKind induction_task() {
  return question_task({.name = "induction",
                        .keys = {"alphabet", "length", "min_length", "validation_length"},
                        .check = check_induction,
                        .make = make_induction,
                        .answer_length = answer_length_induction});
}

}  // namespace qkv
