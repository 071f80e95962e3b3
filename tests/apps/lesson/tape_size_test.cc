#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/lesson/tape.h"

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

double bytes_of(const Recording& recording) {
  const Tape& tape = recording.tape;
  int64_t bytes = kBytesOfEntry * (std::ssize(tape.ops) + std::ssize(tape.values));
  for (const TapeValue& value : tape.values) {
    bytes += static_cast<int64_t>(value.tensor.array().bytes());
  }
  return static_cast<double>(bytes);
}

void expect_told(const ModelKind& kind, const ModelOptions& options) {
  const DataShape data = {.vocabulary_size = kVocabulary,
                          .max_length = 60,
                          .source_length = 60,
                          .classes = kVocabulary};
  const Model model(options, data, Initializer(RandomStream(1), DType::f64));
  const auto expected = [&](const Batch& b) { return expected_bytes(options, data, b, kind.form); };
  const auto made = [&](const Batch& b) { return bytes_of(record(model, b, kind.form)); };
  const Batch small = batch_of(kind.form, 5, 5), even = batch_of(kind.form, 41, 41);
  const Batch odd = batch_of(kind.form, 41, 20);
  EXPECT_EQ(expected(small), made(small));
  EXPECT_EQ(expected(even), made(even));
  EXPECT_GE(expected(odd), made(odd));
}

TEST(RecordingSizeTest, IsToldWithoutTheRecording) {
  for (const ModelKind& kind : model_kinds()) {
    const auto expect = [&](int64_t layers, const Named<Position>& position, int64_t window) {
      SCOPED_TRACE(
          absl::StrCat(kind.name, ", ", position.name, ", window ", window, ", layers ", layers));
      ModelOptions options = {.num_layers = layers, .d_model = 8, .num_heads = 2, .d_ff = 12};
      options.kind = kind.name;
      options.position = position.value;
      options.attention.window = window;
      expect_told(kind, options);
    };
    for (const Named<Position>& position : kNames<Position>) {
      for (const int64_t window : {0, 3}) expect(2, position, window);
    }
    for (const int64_t layers : {1, 3, 6}) expect(layers, kNames<Position>[0], 0);
  }
}

}  // namespace
}  // namespace qkv
