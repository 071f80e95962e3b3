#include "lessons/explain/recording_size.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lessons/explain/recording.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 7;

Array tokens(int64_t length) {
  Array array({1, length}, DType::i64);
  for (int64_t i = 0; i < length; ++i) array.mutable_data<int64_t>()[i] = i * i % kVocabulary;
  return array;
}

Batch batch_of(DataForm form, int64_t source, int64_t target) {
  if (form == DataForm::kSequence) return {{tokens(target)}, tokens(target)};
  if (form == DataForm::kClass) return {{tokens(source)}, Array::of({1}, std::vector<int64_t>{3})};
  return {{tokens(source), tokens(target)}, tokens(target)};
}

int64_t bytes_of(const Recording& recording) {
  int64_t bytes = 0;
  for (const TapeValue& value : recording.tape.values) {
    bytes += static_cast<int64_t>(value.tensor.array().bytes());
  }
  return bytes;
}

TEST(RecordingSizeTest, IsToldWithoutTheRecording) {
  for (const ModelKind& kind : model_kinds()) {
    for (const Named<Position>& position : kNames<Position>) {
      for (const int64_t window : {0, 3}) {
        ModelOptions options = {.num_layers = 2, .d_model = 8, .num_heads = 2, .d_ff = 12};
        options.kind = kind.name;
        options.position = position.value;
        options.attention.window = window;
        const DataShape data = {.vocabulary_size = kVocabulary,
                                .max_length = 60,
                                .source_length = 60,
                                .classes = kVocabulary};
        const Model model(options, data, Initializer(RandomStream(1), DType::f64));
        const std::string name = kind.name + ", " + position.name;
        const Batch even = batch_of(kind.form, 41, 41), odd = batch_of(kind.form, 41, 20);
        EXPECT_EQ(expected_bytes(model, even, kind.form), bytes_of(record(model, even, kind.form)))
            << name << ", window " << window;
        EXPECT_GE(expected_bytes(model, odd, kind.form), bytes_of(record(model, odd, kind.form)))
            << name << ", window " << window;
      }
    }
  }
}

}  // namespace
}  // namespace qkv
