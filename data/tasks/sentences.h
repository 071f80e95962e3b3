#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "data/task.h"

// What tasks whose questions are written as people write have in common.
namespace qkv {

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
  return values[static_cast<size_t>(choices.below(std::ssize(values)))];
}

}  // namespace qkv
