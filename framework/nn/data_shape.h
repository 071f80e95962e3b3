#pragma once

#include <cstdint>

#include "framework/core/text/names.h"

namespace qkv {

// The form in which a model gets a question and its answer.
enum class DataForm {
  // One sequence, tokens [B, T] -> logits [B, T, V] of the token after each.
  kSequence,
  // Two. The question, source [B, Ts], and the answer so far, target [B, Tt], which begins with the
  // last token of the question -> logits [B, Tt, V] of the token after each. Where questions differ
  // in length there is a third input, the padding of the source: boolean [B, Ts].
  kSourceTarget,
  // The question alone, tokens [B, T], and where questions differ in length their padding, boolean
  // [B, T]; or an image, pixels [B, channels, height, width] -> logits [B, classes] of the answer.
  kClass,
};
template <>
inline constexpr Named<DataForm> kNames<DataForm>[] = {
    {"a sequence to continue", DataForm::kSequence},
    {"a question and its answer", DataForm::kSourceTarget},
    {"a question with an answer of one token", DataForm::kClass}};

// The properties of data that a model depends on. Data sets have them; checkpoints store them.
struct DataShape {
  int64_t vocabulary_size = 0;  // V: tokens are 0 … V - 1
  int64_t max_length = 0;       // T: tokens of a sequence, or of the target if there is a source
  int64_t source_length = 0;    // Ts; 0: no source
  int64_t classes = 0;          // of the form kClass
  int64_t channels = 0, height = 0, width = 0;  // of an image; 0: the model reads tokens

  bool is_image() const { return height > 0; }
  const char* unit() const { return is_image() ? "images" : "tokens"; }  // of the input
};

}  // namespace qkv
