#include "data/tasks/sentences.h"

#include <set>

#include "absl/strings/str_split.h"
#include "framework/core/sure.h"

namespace qkv {
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

}  // namespace qkv
