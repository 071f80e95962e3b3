#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/data_options.h"
#include "data/task.h"
#include "data/tasks/tasks.h"

// The parts of tasks' files: those over rows of symbols, those whose questions are written as
// people write, and those over a file of the user's.
namespace qkv {

using Tokens = std::vector<int64_t>;

constexpr int64_t kMaxAlphabet = 62;  // 0-9, a-z, A-Z

// `count` single characters: 0-9, or where that is too few the first of a-z, A-Z, 0-9.
std::vector<std::string> symbol_texts(int64_t count);

// `count` different numbers of 0 … bound - 1, in random order.
Tokens draw_distinct(int64_t count, int64_t bound, Choices& choices);
Tokens decisions_of_distinct(std::span<const int64_t> drawn, int64_t bound);  // which drew these

// length, min_length, validation_length: how long the question of one example is, and its limits.
int64_t draw_length(const DataOptions& options, Split split, Choices& choices);
Tokens decisions_of_length(const DataOptions& options, Split split, int64_t length);  // one or none
int64_t longest_validation(const DataOptions& options);
void check_lengths(const DataOptions& options, int64_t shortest, OptionChecker& check);

// Questions of random symbols whose answer is a function:  31415=51413
// The ids of the symbols are 0 … alphabet - 1, then comes the separator "=", and where lengths vary
// the padding "_". The alphabet is an option, or where one is given, that.
struct SequenceTask {
  std::string name;
  std::function<Tokens(std::span<const int64_t> question)> answer;
  std::function<int64_t(int64_t question_length)> answer_length = nullptr;  // not given: 1
  int64_t alphabet = 0;                                                     // 0: data.alphabet
};
TaskKind sequence_task(const SequenceTask& sequence);

struct Sentence {
  std::string question;
  std::string answer;
};

// Questions that are texts, and their answers:  3 March 1987=1987-03-03
// The tokens are `token_texts`, the separator "=", and the padding "_", since lengths vary.
struct SentenceTask {
  std::string name;
  std::vector<std::string> token_texts;
  std::function<Sentence(Choices&)> draw;  // different decisions make different questions
  int64_t longest_question = 0;            // in tokens
  int64_t answer_length = 1;
};
TaskKind sentence_task(const SentenceTask& sentence);

// The characters of `text`, or its words between spaces: each once, in order.
std::vector<std::string> characters_of(std::string_view text);
std::vector<std::string> words_of(const std::string& text);

template <class Values>
const auto& one_of(const Values& values, Choices& choices) {
  return values[choices.below(std::ssize(values))];
}

constexpr int64_t kTextLength = 200;  // tokens that make a good piece of text

// `task` needs data.path; the shares of its two parts; how many tokens may be learned.
void check_path(const char* task, const DataOptions& options, OptionChecker& check);
void check_shares(const DataOptions& options, OptionChecker& check);
void check_tokens(const DataOptions& options, OptionChecker& check);

}  // namespace qkv
