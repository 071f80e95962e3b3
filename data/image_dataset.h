#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "data/dataset.h"
#include "framework/core/random.h"

namespace qkv {

// Grey images, each of a class, which is what a model is asked for. The vocabulary is the names of
// the classes. A batch is pixels f32 [B, 1, height, width], 0 black and 1 white, and the classes
// [B].
class ImageDataset : public Dataset {
 public:
  DataShape shape() const final;
  bool has_answers() const final { return true; }

  Batch training_batch(int64_t index, int64_t batch_size) const final;
  Batch validation_batch(int64_t first, int64_t count) const final;
  Example validation_example(int64_t index) const final;

 protected:
  ImageDataset(Vocabulary classes, int64_t height, int64_t width, uint64_t seed);

  // Writes the pixels of an image, row by row, and returns its class. Images of training have the
  // numbers 0 … training_size() - 1, or where they are drawn at random, any; how one is changed
  // from batch to batch, if it is, comes from `change`.
  virtual int64_t training_image(uint64_t number, RandomStream& change,
                                 std::span<float> pixels) const = 0;
  virtual int64_t validation_image(int64_t index, std::span<float> pixels) const = 0;

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

 private:
  using ImageOfRow = std::function<int64_t(int64_t row, std::span<float> pixels)>;
  Batch make_batch(int64_t rows, const ImageOfRow& image) const;

  int64_t height_, width_;
  RandomStream stream_;
};

}  // namespace qkv
