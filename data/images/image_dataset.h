#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "framework/core/random.h"

namespace qkv {

// The size of images.
struct ImageSize {
  int64_t channels = 1, height = 0, width = 0;

  int64_t numbers() const { return channels * height * width; }
};

// Images, each of a class, which a model is to predict. The vocabulary is the names of the classes.
// A batch is pixels f32 [B, channels, height, width], 0 black and 1 white, and the classes [B].
class ImageDataset : public Dataset {
 public:
  DataShape shape() const final;
  bool has_answers() const final { return true; }

  Batch training_batch(int64_t index, int64_t batch_size) const final;
  Batch validation_batch(int64_t first, int64_t count) const final;
  Example validation_example(int64_t index) const final;

 protected:
  ImageDataset(Vocabulary classes, const ImageSize& size, uint64_t seed);

  // Writes the pixels of an image, row by row of each channel, and returns its class. Images of
  // training have the numbers 0 … training_size() - 1, or where they are drawn at random, any; how
  // one is changed from batch to batch, if it is, comes from `change`.
  virtual int64_t training_image(uint64_t number, RandomStream& change,
                                 std::span<float> pixels) const = 0;
  virtual int64_t validation_image(int64_t index, std::span<float> pixels) const = 0;

  const ImageSize& size() const { return size_; }

 private:
  using ImageOfRow = std::function<int64_t(int64_t row, std::span<float> pixels)>;
  Batch make_batch(int64_t rows, const ImageOfRow& image) const;

  ImageSize size_;
  RandomStream stream_;
};

// Images of one size, in bytes, and the class of each.
struct LabelledImages {
  ImageSize each;
  std::string bytes;            // [N, channels, height, width]
  std::vector<int64_t> labels;  // [N]

  int64_t size() const { return std::ssize(labels); }
};

// A data set of the two lists, whose images have the same size. Each time an image of training is
// drawn it is moved by up to data.shift pixels in each direction, and with data.mirror half of the
// time mirrored.
std::unique_ptr<Dataset> make_listed_images(Vocabulary classes, LabelledImages training,
                                            LabelledImages validation, const DataOptions& options,
                                            std::string fingerprint, uint64_t seed,
                                            std::vector<std::string> notes = {});

inline constexpr int64_t kLargestSide = 512;  // of an image: a batch holds many

// Notes on classes: on those that validation does not ask for, and on names that were not in NFC.
void note_unjudged_classes(const std::vector<std::string>& names, std::span<const int64_t> judged,
                           std::vector<std::string>& notes);
void note_other_forms(const std::vector<std::string>& names, std::vector<std::string>& notes);

// Those of data.class_names.
std::vector<std::string> names_of_classes(const DataOptions& options);

// The mistake in the names of classes; "": none.
std::string mistake_of_class_names(const std::vector<std::string>& names, size_t most);

}  // namespace qkv
