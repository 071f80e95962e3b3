#include "apps/bench/bench_shapes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/core/sure.h"
#include "models/model.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 65;  // of tiny Shakespeare
constexpr int64_t kClasses = 10;
constexpr int64_t kNumbers = 1 << 16;  // that batches are cut from, at least

Vocabulary numbered(int64_t size) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < size; ++i) texts.push_back(absl::StrFormat("%d", i));
  return sure(Vocabulary::create(std::move(texts)));
}

class RandomData : public Dataset {
 public:
  bool has_answers() const override { return false; }
  int64_t validation_size() const override { return 0; }
  Batch validation_batch(int64_t, int64_t) const override { fail_without_validation(); }
  Example validation_example(int64_t) const override { fail_without_validation(); }

 protected:
  using Dataset::Dataset;

 private:
  [[noreturn]] static void fail_without_validation() {
    fail("random data: there is nothing to validate on");
  }
};

// A text of random tokens. Batches are cut from it, as from a text that a model is trained on: the
// target of a token is the one after it, and a source is what stands before.
class RandomTokens final : public RandomData {
 public:
  RandomTokens(const BenchShape& shape, uint64_t seed)
      : RandomData(numbered(kVocabulary), form_of(shape.kind)),
        length_(shape.length),
        source_length_(shape.source_length),
        before_(std::max<int64_t>(source_length_ - 1, 0)),
        random_(RandomStream(seed).derive("random tokens")),
        text_(static_cast<size_t>(std::max(kNumbers, 2 * (before_ + length_)))) {
    RandomStream stream = random_.derive("text");
    std::ranges::generate(text_, [&] { return static_cast<int64_t>(stream.below(kVocabulary)); });
  }

  DataShape shape() const override {
    return {.vocabulary_size = kVocabulary, .max_length = length_, .source_length = source_length_};
  }

  Batch training_batch(int64_t index, int64_t batch_size) const override {
    RandomStream stream = random_.derive(static_cast<uint64_t>(index));
    const Shape shape{batch_size, length_};
    Array sources({batch_size, source_length_}, DType::i64), tokens(shape, DType::i64),
        targets(shape, DType::i64);
    const auto cut = [](const int64_t* from, int64_t row, Array& to) {
      const int64_t length = to.shape()[1];
      std::copy_n(from, length, to.mutable_data<int64_t>() + row * length);
    };
    for (int64_t row = 0; row < batch_size; ++row) {
      const auto start = stream.below(text_.size() - static_cast<size_t>(before_ + length_));
      const int64_t* from = text_.data() + start;
      cut(from, row, sources);
      cut(from + before_, row, tokens);
      cut(from + before_ + 1, row, targets);
    }
    if (source_length_ == 0) return {{tokens}, targets};
    return {{sources, tokens}, targets};
  }

 private:
  int64_t length_, source_length_;
  int64_t before_;  // tokens of the source that stand before the target
  RandomStream random_;
  std::vector<int64_t> text_;
};

// A strip of random pixels, from which images are cut.
class RandomImages final : public RandomData {
 public:
  RandomImages(const BenchShape& shape, uint64_t seed)
      : RandomData(numbered(kClasses), form_of(shape.kind)),
        size_(shape.image_size),
        random_(RandomStream(seed).derive("random images")),
        pixels_(static_cast<size_t>(std::max(kNumbers, 2 * size_ * size_))) {
    RandomStream stream = random_.derive("pixels");
    std::ranges::generate(pixels_, [&] { return static_cast<float>(stream.uniform()); });
  }

  DataShape shape() const override {
    return {.vocabulary_size = kClasses,
            .classes = kClasses,
            .channels = 1,
            .height = size_,
            .width = size_};
  }

  Batch training_batch(int64_t index, int64_t batch_size) const override {
    RandomStream stream = random_.derive(static_cast<uint64_t>(index));
    const int64_t pixels = size_ * size_;
    Array images({batch_size, 1, size_, size_}, DType::f32), classes({batch_size}, DType::i64);
    for (int64_t row = 0; row < batch_size; ++row) {
      const auto start = stream.below(pixels_.size() - static_cast<size_t>(pixels));
      std::copy_n(pixels_.data() + start, pixels, images.mutable_data<float>() + row * pixels);
      classes.mutable_data<int64_t>()[row] = static_cast<int64_t>(stream.below(kClasses));
    }
    return {{images}, classes};
  }

 private:
  int64_t size_;
  RandomStream random_;
  std::vector<float> pixels_;
};

}  // namespace

std::string BenchShape::describe() const {
  std::string read = absl::StrFormat("T %d", length);
  if (source_length > 0) read = absl::StrFormat("a source of %d and T %d", source_length, length);
  if (image_size > 0) read = absl::StrFormat("images of %d x %d", image_size, image_size);
  return absl::StrFormat("%d layers%s, d_model %d, %d heads, d_ff %d, %s, B %d", num_layers,
                         source_length > 0 ? " each" : "", d_model, num_heads, d_ff, read,
                         batch_size);
}

const std::vector<BenchShape>& bench_shapes() {
  static const std::vector<BenchShape> shapes = {
      {.name = "toy",
       .num_layers = 2,
       .d_model = 64,
       .num_heads = 4,
       .d_ff = 256,
       .length = 32,
       .batch_size = 64},
      {.name = "small",
       .num_layers = 4,
       .d_model = 128,
       .num_heads = 4,
       .d_ff = 512,
       .length = 64,
       .batch_size = 12},
      {.name = "mini",
       .num_layers = 6,
       .d_model = 384,
       .num_heads = 6,
       .d_ff = 1536,
       .length = 256,
       .batch_size = 8},
      {.name = "seq2seq",
       .kind = "encoder_decoder",
       .num_layers = 2,
       .d_model = 64,
       .num_heads = 4,
       .d_ff = 256,
       .length = 16,
       .source_length = 17,
       .batch_size = 64},
      {.name = "vit",
       .kind = "classifier",
       .num_layers = 4,
       .d_model = 64,
       .num_heads = 4,
       .d_ff = 128,
       .image_size = 28,
       .batch_size = 64},
  };
  return shapes;
}

Config config_of(const BenchShape& shape) {
  Config config;
  config.name = shape.name;
  if (shape.image_size > 0) config.data.task = "shapes";  // stands for any that has images
  config.model.kind = shape.kind;
  config.model.num_layers = shape.num_layers;
  config.model.d_model = shape.d_model;
  config.model.num_heads = shape.num_heads;
  config.model.d_ff = shape.d_ff;
  config.train.batch_size = shape.batch_size;
  config.train.steps = 1'000'000;  // the schedule of the learning rate never ends
  return config;
}

std::unique_ptr<Dataset> random_data(const BenchShape& shape, uint64_t seed) {
  if (shape.image_size > 0) return std::make_unique<RandomImages>(shape, seed);
  return std::make_unique<RandomTokens>(shape, seed);
}

}  // namespace qkv
