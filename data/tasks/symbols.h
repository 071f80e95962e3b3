#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/task.h"

// What tasks over rows of symbols have in common.
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

// Questions of random symbols, of which the answer is a function:  31415=51413
// The ids of the symbols are 0 … alphabet - 1, then comes the separator "=", and where lengths vary
// the padding "_". The alphabet is an option, or where one is given, that.
struct SequenceTask {
  std::string name;
  std::function<Tokens(std::span<const int64_t> question)> answer;
  std::function<int64_t(int64_t question_length)> answer_length = nullptr;  // not given: 1
  int64_t alphabet = 0;                                                     // 0: data.alphabet
};
TaskKind sequence_task(const SequenceTask& sequence);

}  // namespace qkv
