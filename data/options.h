#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/core/names.h"

namespace qkv {

// How an image of any size becomes one of image_size x image_size pixels. crop: its shorter side
// becomes as long, and the middle of the longer one is kept; pad: the longer side becomes as long,
// and black is put beside it; stretch: both sides do, each by itself.
enum class Fit { kCrop, kPad, kStretch };
template <>
inline constexpr Named<Fit> kNames<Fit>[] = {
    {"crop", Fit::kCrop}, {"pad", Fit::kPad}, {"stretch", Fit::kStretch}};

// What the tokens of a text are.
enum class TokenKind { kCharacters, kBytes, kWords, kBpe, kTokenizer };
template <>
inline constexpr Named<TokenKind> kNames<TokenKind>[] = {
    {"characters", TokenKind::kCharacters, {"min_count"}},
    {"bytes", TokenKind::kBytes},
    {"words", TokenKind::kWords, {"vocabulary_size", "min_count"}},
    {"bpe", TokenKind::kBpe, {"vocabulary_size"}},
    {"tokenizer", TokenKind::kTokenizer, {"tokenizer"}}};

// What a run learns from: the [data] table of a config. `length` counts symbols of the question,
// not tokens; of a text it counts the tokens in a window.
struct DataOptions {
  std::string task = "reverse";      // one of data/tasks
  std::string path = {};             // the text files (file.h), or the folder of images
  std::string validation_path = {};  // files of its own; "": a part of those of `path`
  TokenKind tokens = TokenKind::kCharacters;
  std::string tokenizer = {};      // the tokenizer.json that says it
  int64_t vocabulary_size = 1024;  // of byte pairs and bytes, or of words at most
  int64_t min_count = 0;           // of characters and words; rarer ones are unknown (files.h)
  std::string question_key = {};   // where the question stands; "": the task's own word
  std::string answer_key = {};
  int64_t context = 0;           // tokens that a model reads; 0: as many as the longest example has
  std::string class_names = {};  // of images, with spaces between them; "": 0, 1, …, or folders
  int64_t alphabet = 10;         // how many different symbols
  int64_t length = 16;           // symbols in a question; tokens in a window of text
  int64_t min_length = 0;  // where questions vary in length: the shortest; 0: all are `length`
  int64_t validation_length = 0;       // 0: as in training
  int64_t digits = 3;                  // of each number
  int64_t modulus = 97;                // what a sum is taken modulo of
  int64_t distance = 8;                // between a symbol and where it is needed
  int64_t pairs = 8;                   // of a key and a value
  int64_t image_size = 16;             // the height and the width of an image, in pixels
  Fit fit = Fit::kCrop;                // how images of files become as large
  int64_t channels = 1;                // of their pixels: 1, grey, or 3
  int64_t shift = 0;                   // pixels by which an image of training is moved, at most
  bool mirror = false;                 // half of the images of training are mirrored
  double train_fraction = 0.9;         // the share of the examples of `path` for training
  int64_t validation_examples = 1000;  // at most; text and modular_addition use all there are
};

// Something wrong in the options: the key, and what is wrong with its value as the rest of a
// sentence: {"alphabet", "must be 2 … 62, not 100"}.
struct OptionMistake {
  std::string key;
  std::string message;
};

// Larger than anybody needs, small enough that nothing overflows or eats the machine.
constexpr int64_t kMaxLength = 65536;
constexpr int64_t kMaxValidationExamples = 100000;

// Collects what is wrong with options, in the words of OptionMistake.
class OptionChecker {
 public:
  template <class Number>  // a NaN is outside
  void range(const char* key, Number value, std::type_identity_t<Number> low,
             std::type_identity_t<Number> high) {
    if (value >= low && value <= high) return;
    add(key, absl::StrCat("must be ", low, " … ", high, ", not ", value));
  }
  void add(const char* key, std::string message) { mistakes_.push_back({key, std::move(message)}); }

  const std::vector<OptionMistake>& mistakes() const { return mistakes_; }

 private:
  std::vector<OptionMistake> mistakes_;
};

}  // namespace qkv
