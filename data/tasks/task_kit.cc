#include "data/tasks/task_kit.h"

#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_split.h"
#include "framework/core/sure.h"

namespace qkv {
namespace {

Task make_task(const DataOptions& options, const SequenceTask& sequence, int64_t alphabet) {
  const bool lengths_vary = options.min_length != 0 && options.min_length < options.length;
  Task task;
  task.token_texts = symbol_texts(alphabet);
  task.token_texts.emplace_back("=");
  if (lengths_vary) task.token_texts.emplace_back("_");
  const auto lengths = [&](int64_t length) {
    const int64_t prompt = length + 1;
    const int64_t answer = sequence.answer_length ? sequence.answer_length(length) : 1;
    return QuestionLengths{.prompt = prompt, .answer = answer, .both = prompt + answer};
  };
  task.training = lengths(options.length);
  task.validation = lengths(longest_validation(options));
  task.draw = [options, alphabet, answer = sequence.answer](Split split, Choices& choices) {
    Tokens question(static_cast<size_t>(draw_length(options, split, choices)));
    for (int64_t& symbol : question) symbol = choices.below(alphabet);
    Example example;
    example.answer = answer(question);
    example.prompt = std::move(question);
    example.prompt.push_back(alphabet);
    return example;
  };
  task.decisions = [options](Split split, const Tokens& prompt) {
    Tokens decisions = decisions_of_length(options, split, std::ssize(prompt) - 1);
    decisions.insert(decisions.end(), prompt.begin(), prompt.end());
    return decisions;
  };
  return task;
}

}  // namespace

std::vector<std::string> symbol_texts(int64_t count) {
  const std::string characters =
      count <= 10 ? "0123456789" : "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::vector<std::string> texts;
  for (const char c : characters.substr(0, static_cast<size_t>(count))) texts.emplace_back(1, c);
  return texts;
}

Tokens draw_distinct(int64_t count, int64_t bound, Choices& choices) {
  Tokens left(static_cast<size_t>(bound));
  std::iota(left.begin(), left.end(), 0);
  for (int64_t i = 0; i < count; ++i) {
    std::swap(left[i], left[choices.between(i, bound - 1)]);
  }
  left.resize(static_cast<size_t>(count));
  return left;
}

Tokens decisions_of_distinct(std::span<const int64_t> drawn, int64_t bound) {
  Tokens left(static_cast<size_t>(bound));
  std::iota(left.begin(), left.end(), 0);
  Tokens decisions;
  for (auto next = left.begin(); const int64_t number : drawn) {
    const auto found = std::find(next, left.end(), number);
    if (found == left.end()) break;  // not drawn so
    decisions.push_back(found - next);
    std::iter_swap(next++, found);
  }
  return decisions;
}

int64_t draw_length(const DataOptions& options, Split split, Choices& choices) {
  if (split == Split::kValidation && options.validation_length != 0) {
    return options.validation_length;
  }
  if (options.min_length == 0) return options.length;
  return choices.between(options.min_length, options.length);
}

Tokens decisions_of_length(const DataOptions& options, Split split, int64_t length) {
  const bool is_given =
      (split == Split::kValidation && options.validation_length != 0) || options.min_length == 0;
  return is_given ? Tokens() : Tokens{length - options.min_length};
}

int64_t longest_validation(const DataOptions& options) {
  return options.validation_length != 0 ? options.validation_length : options.length;
}

void check_lengths(const DataOptions& options, int64_t shortest, OptionChecker& check) {
  check.range("length", options.length, shortest, kMaxLength);
  if (options.min_length != 0) {
    check.range("min_length", options.min_length, shortest, std::max(shortest, options.length));
  }
  if (options.validation_length != 0) {
    check.range("validation_length", options.validation_length, shortest, kMaxLength);
  }
}

TaskKind sequence_task(const SequenceTask& sequence) {
  std::vector<std::string> keys = {"length", "min_length", "validation_length"};
  if (sequence.alphabet == 0) keys.insert(keys.begin(), "alphabet");
  QuestionTask question = {.name = sequence.name,
                           .keys = std::move(keys),
                           .check =
                               [sequence](const DataOptions& options, OptionChecker& check) {
                                 check_lengths(options, 1, check);
                                 if (sequence.alphabet == 0)
                                   check.range("alphabet", options.alphabet, 2, kMaxAlphabet);
                               },
                           .make =
                               [sequence](const DataOptions& options) {
                                 return make_task(
                                     options, sequence,
                                     sequence.alphabet == 0 ? options.alphabet : sequence.alphabet);
                               }};
  if (sequence.answer_length) {
    question.answer_length = [sequence](const DataOptions&, int64_t prompt_length) {
      return sequence.answer_length(std::max<int64_t>(1, prompt_length - 1));
    };
  }
  return question_task(question);
}

namespace {

Task make_task(const SentenceTask& sentence) {
  Task task;
  task.token_texts = sentence.token_texts;
  task.token_texts.emplace_back("=");
  task.token_texts.emplace_back("_");
  task.training =
      task.validation = {.prompt = sentence.longest_question + 1,
                         .answer = sentence.answer_length,
                         .both = sentence.longest_question + 1 + sentence.answer_length};

  task.draw = [vocabulary = sure(Vocabulary::create(task.token_texts)), draw = sentence.draw](
                  Split, Choices& choices) {
    const auto [question, answer] = draw(choices);
    Example example = {sure(vocabulary.encode(question)), sure(vocabulary.encode(answer))};
    const int64_t equals = vocabulary.size() - 2;
    example.prompt.push_back(equals);
    return example;
  };
  return task;
}

}  // namespace

TaskKind sentence_task(const SentenceTask& sentence) {
  QuestionTask question = {.name = sentence.name,
                           .keys = {},
                           .check = [](const DataOptions&, OptionChecker&) {},
                           .make = [sentence](const DataOptions&) { return make_task(sentence); }};
  if (const int64_t length = sentence.answer_length; length > 1) {
    question.answer_length = [length](const DataOptions&, int64_t) { return length; };
  }
  return question_task(question);
}

std::vector<std::string> characters_of(std::string_view text) {
  return sure(Vocabulary::of_characters(text)).texts();
}

std::vector<std::string> words_of(const std::string& text) {
  const std::set<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  return {words.begin(), words.end()};
}

void check_path(const char* task, const DataOptions& options, OptionChecker& check) {
  if (!options.path.empty()) return;
  check.add("path", "is missing: the task \"", task,
            "\" reads a file; give one with --set data.path=FILE");
}

void check_shares(const DataOptions& options, OptionChecker& check) {
  const double most = options.validation_path.empty() ? 0.999 : 1;
  check.range("train_fraction", options.train_fraction, 0.001, most);
  check.range("validation_examples", options.validation_examples, 1, kMaxValidationExamples);
}

void check_tokens(const DataOptions& options, OptionChecker& check) {
  constexpr int64_t kLeastWords = 2, kLeastPairs = 257, kMost = 1 << 20;
  if (options.tokens == TokenKind::kTokenizer && options.tokenizer.empty()) {
    check.add("tokenizer",
              "is missing: data.tokens = \"tokenizer\" reads the tokens from a file; "
              "give one with --set data.tokenizer=FILE");
  } else if (options.tokens == TokenKind::kWords) {
    check.range("vocabulary_size", options.vocabulary_size, kLeastWords, kMost);
  } else if (options.tokens == TokenKind::kBpe && options.vocabulary_size < kLeastPairs) {
    check.add("vocabulary_size", "must be at least ", kLeastPairs, ", not ",
              options.vocabulary_size, ": 256 bytes and at least one pair");
  } else if (options.tokens == TokenKind::kBpe) {
    check.range("vocabulary_size", options.vocabulary_size, kLeastPairs, kMost);
  }
}

}  // namespace qkv
