#include "train/bench/bench_shapes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/core/random.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 65;  // of tiny Shakespeare

// A text of random tokens. Batches are cut from it, as from a text that a model is trained on.
class RandomTokens final : public Dataset {
 public:
  RandomTokens(Vocabulary vocabulary, int64_t length, uint64_t seed)
      : Dataset(std::move(vocabulary)),
        length_(length),
        random_(RandomStream(seed).derive("random tokens")),
        text_(static_cast<size_t>(std::max(kTokens, 2 * length))) {
    RandomStream stream = random_.derive("text");
    std::ranges::generate(text_, [&] { return static_cast<int64_t>(stream.below(kVocabulary)); });
  }

  bool has_answers() const override { return false; }
  DataShape shape() const override {
    return {.vocabulary_size = vocabulary().size(), .max_length = length_};
  }

  Batch training_batch(int64_t index, int64_t batch_size) const override {
    RandomStream stream = random_.derive(static_cast<uint64_t>(index));
    const Shape shape{batch_size, length_};
    Array inputs(shape, DType::i64), targets(shape, DType::i64);
    for (int64_t row = 0; row < batch_size; ++row) {
      const auto start = stream.below(text_.size() - static_cast<size_t>(length_));
      const int64_t* token = text_.data() + start;
      std::copy_n(token, length_, inputs.mutable_data<int64_t>() + row * length_);
      std::copy_n(token + 1, length_, targets.mutable_data<int64_t>() + row * length_);
    }
    return {{inputs}, targets};
  }

  int64_t validation_size() const override { return 0; }
  Batch validation_batch(int64_t, int64_t) const override { fail_without_validation(); }
  Example validation_example(int64_t) const override { fail_without_validation(); }

 private:
  [[noreturn]] static void fail_without_validation() {
    fail("random tokens: there is nothing to validate on");
  }

  static constexpr int64_t kTokens = 1 << 16;

  int64_t length_;
  RandomStream random_;
  std::vector<int64_t> text_;
};

}  // namespace

std::string BenchShape::describe() const {
  return absl::StrFormat("%d layers, d_model %d, %d heads, d_ff %d, T %d, B %d", num_layers,
                         d_model, num_heads, d_ff, length, batch_size);
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
  };
  return shapes;
}

Config config_of(const BenchShape& shape) {
  Config config;
  config.name = shape.name;
  config.model.num_layers = shape.num_layers;
  config.model.d_model = shape.d_model;
  config.model.num_heads = shape.num_heads;
  config.model.d_ff = shape.d_ff;
  config.train.batch_size = shape.batch_size;
  config.train.steps = 1'000'000;  // the schedule of the learning rate never ends
  return config;
}

std::unique_ptr<Dataset> random_tokens(int64_t length, uint64_t seed) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < kVocabulary; ++i) texts.push_back(absl::StrFormat("%d", i));
  return std::make_unique<RandomTokens>(*Vocabulary::create(std::move(texts)), length, seed);
}

}  // namespace qkv
