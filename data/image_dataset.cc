#include "data/image_dataset.h"

#include "data/batch_builder.h"

namespace qkv {

ImageDataset::ImageDataset(Vocabulary classes, const ImageSize& size, uint64_t seed)
    : Dataset(std::move(classes), DataForm::kClass), size_(size), stream_(seed) {}

DataShape ImageDataset::shape() const {
  DataShape shape;
  shape.vocabulary_size = vocabulary().size();
  shape.classes = vocabulary().size();
  shape.channels = size_.channels;
  shape.height = size_.height;
  shape.width = size_.width;
  return shape;
}

Batch ImageDataset::make_batch(int64_t rows, const ImageOfRow& image) const {
  Array pixels({rows, size_.channels, size_.height, size_.width}, DType::f32);
  Array classes({rows}, DType::i64);
  const auto size = static_cast<size_t>(size_.numbers());
  const std::span<float> all(pixels.mutable_data<float>(), static_cast<size_t>(rows) * size);
  for (int64_t row = 0; row < rows; ++row) {
    classes.mutable_data<int64_t>()[row] =
        image(row, all.subspan(static_cast<size_t>(row) * size, size));
  }
  return {{pixels}, classes};
}

Batch ImageDataset::training_batch(int64_t index, int64_t batch_size) const {
  check_training_batch(index, batch_size);
  const int64_t size = training_size();
  const bool everything = size > 0 && size <= batch_size;
  const RandomStream stream =
      stream_.derive("training images").derive(static_cast<uint64_t>(index));
  return make_batch(everything ? size : batch_size, [&](int64_t row, std::span<float> pixels) {
    const auto number = static_cast<uint64_t>(row);
    RandomStream choice = stream.derive(number);
    const uint64_t image = everything ? number
                           : size > 0 ? choice.below(static_cast<uint64_t>(size))
                                      : choice.bits();
    return training_image(image, choice, pixels);
  });
}

Batch ImageDataset::validation_batch(int64_t first, int64_t count) const {
  check_validation_range(first, count, validation_size());
  return make_batch(count, [&](int64_t row, std::span<float> pixels) {
    return validation_image(first + row, pixels);
  });
}

Example ImageDataset::validation_example(int64_t index) const {
  const Batch batch = validation_batch(index, 1);
  return {{}, {batch.targets.data<int64_t>()[0]}};
}

}  // namespace qkv
