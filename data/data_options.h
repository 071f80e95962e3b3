#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/core/text/names.h"

namespace qkv {

// How an image of any size becomes one of image_size x image_size pixels. crop: its shorter side
// becomes as long, and the middle of the longer one is kept; pad: the longer side becomes as long,
// and black is put beside it; stretch: both sides do, each by itself.
enum class Fit { kCrop, kPad, kStretch };
template <>
inline constexpr Named<Fit> kNames<Fit>[] = {
    {"crop", Fit::kCrop}, {"pad", Fit::kPad}, {"stretch", Fit::kStretch}};

// The kinds of tokens of a text.
enum class TokenKind { kCharacters, kBytes, kWords, kBpe, kTokenizer };
template <>
inline constexpr Named<TokenKind> kNames<TokenKind>[] = {
    {"characters", TokenKind::kCharacters, {"min_count"}},
    {"bytes", TokenKind::kBytes},
    {"words", TokenKind::kWords, {"vocabulary_size", "min_count"}},
    {"bpe", TokenKind::kBpe, {"vocabulary_size"}},
    {"tokenizer", TokenKind::kTokenizer, {"tokenizer"}}};

// The data of a run: the [data] table of a config. `length` counts symbols of the question, not
// tokens; for a text it counts the tokens in a window.
struct DataOptions {
  std::string task = "reverse";  // one of data/tasks
  std::string path = {};
  std::string validation_path = {};
  TokenKind tokens = TokenKind::kCharacters;
  std::string tokenizer = {};
  int64_t vocabulary_size = 1024;
  int64_t min_count = 0;
  std::string question_key = {};
  std::string answer_key = {};
  int64_t context = 0;
  std::string class_names = {};
  int64_t alphabet = 10;
  int64_t length = 16;
  int64_t min_length = 0;
  int64_t validation_length = 0;
  int64_t digits = 3;
  int64_t modulus = 97;
  int64_t distance = 8;
  int64_t pairs = 8;
  int64_t image_size = 16;
  Fit fit = Fit::kCrop;
  int64_t channels = 1;
  int64_t shift = 0;
  bool mirror = false;
  double train_fraction = 0.9;
  int64_t validation_examples = 1000;

  // Each of them: its name, its limits, its meaning.
  template <class Fields>
  void describe(Fields& fields) {
    fields.add("task", task, "The task that the model learns.");
    fields.add(
        "path", path, {.is_path = true, .may_change_on_resume = true},
        "The file of examples, or the folder of images; tasks text and lines: a file, a folder "
        "of them, or a list of both.");
    fields.add("validation_path", validation_path, {.is_path = true, .may_change_on_resume = true},
               "The same for validation; empty: a part of the examples of `path`.");
    fields.add("tokens", tokens, "The kind of tokens of a text.");
    fields.add("tokenizer", tokenizer, {.is_path = true},
               "The tokenizer.json of Hugging Face's with the tokens.");
    fields.add("vocabulary_size", vocabulary_size, {.at_least = 2, .at_most = 1 << 20},
               "Number of tokens that bpe learns (bytes among them), or maximum number of words.");
    fields.add("min_count", min_count, {.at_least = 0, .at_most = 1 << 20},
               "How often training must have a character or word that is a token; others are the "
               "unknown token. 0: twice, except that text and lines keep every character.");
    fields.add("question_key", question_key,
               "Column or key of the question; empty: question (task classes: text).");
    fields.add("answer_key", answer_key,
               "Column or key of the answer; empty: answer (task classes: class).");
    fields.add("context", context, {.at_least = 0},
               "Maximum number of tokens of an example; 0: as many as the longest has.");
    fields.add(
        "class_names", class_names,
        "Class names of the images, separated by spaces; empty: 0, 1, … (task image_folder: the "
        "names of the folders).");
    fields.add("alphabet", alphabet, {.at_least = 1}, "Number of different symbols.");
    fields.add("length", length, {.at_least = 1},
               "Number of symbols in a question (task text: of characters in a window).");
    fields.add("min_length", min_length, {.at_least = 0},
               "Number of symbols in the shortest question; 0: every question has `length`.");
    fields.add("validation_length", validation_length, {.at_least = 0},
               "Number of symbols in a validation question; 0: as in training.");
    fields.add("digits", digits, {.at_least = 1}, "Number of digits of each operand.");
    fields.add("modulus", modulus, {.at_least = 2}, "The modulus.");
    fields.add("distance", distance, {.at_least = 1},
               "Distance back to the symbol that is repeated (task hold: the maximum).");
    fields.add("pairs", pairs, {.at_least = 1}, "Number of key-value pairs.");
    fields.add("image_size", image_size, {.at_least = 1},
               "Height and width of an image, in pixels.");
    fields.add(
        "fit", fit,
        "How images become as large: crop the longer side, pad the shorter one, or stretch.");
    fields.add("channels", channels, {.at_least = 1, .at_most = 3},
               "Channels of an image: 1, grey, or 3, in colour.");
    fields.add("shift", shift, {.at_least = 0},
               "Maximum random shift of a training image in each direction, in pixels.");
    fields.add("mirror", mirror,
               "Mirror a training image with probability 1/2, each time it is drawn.");
    fields.add("train_fraction", train_fraction, {.above = 0, .at_most = 1},
               "Fraction of the examples of `path` that training uses; 1 if "
               "`validation_path` is set and nothing else is said.");
    fields.add("validation_examples", validation_examples, {.at_least = 1},
               "Maximum number of unseen examples per evaluation.");
  }
};

// A wrong option: its key, and what is wrong with its value as the rest of a sentence: {"alphabet",
// "must be 2 … 62, not 100"}.
struct OptionMistake {
  std::string key;
  std::string message;
};

// Larger than anybody needs, small enough that nothing overflows or eats the machine.
constexpr int64_t kMaxLength = 65536;
constexpr int64_t kMaxValidationExamples = 100000;

// Collects the mistakes in options, in the words of OptionMistake.
class OptionChecker {
 public:
  template <class Number>  // a NaN is outside
  void range(const char* key, Number value, std::type_identity_t<Number> low,
             std::type_identity_t<Number> high) {
    if (value >= low && value <= high) return;
    add(key, "must be ", low, " … ", high, ", not ", value);
  }
  template <class... Parts>
  void add(const char* key, const Parts&... message) {
    mistakes_.push_back({key, absl::StrCat(message...)});
  }

  const std::vector<OptionMistake>& mistakes() const { return mistakes_; }

 private:
  std::vector<OptionMistake> mistakes_;
};

}  // namespace qkv
