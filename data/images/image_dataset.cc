#include "data/images/image_dataset.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "data/batch_builder.h"
#include "framework/core/text/mistakes.h"

namespace qkv {
namespace {

// One channel moved right and down, with black where it came from.
void move(int64_t right, int64_t down, int64_t height, int64_t width, std::span<float> pixels) {
  const std::vector<float> before(pixels.begin(), pixels.end());
  std::ranges::fill(pixels, 0.0F);
  const int64_t first = std::max<int64_t>(right, 0), end = width + std::min<int64_t>(right, 0);
  if (first >= end) return;
  for (int64_t y = std::max<int64_t>(down, 0); y < height + std::min<int64_t>(down, 0); ++y) {
    std::copy_n(before.begin() + (y - down) * width + first - right, end - first,
                pixels.begin() + y * width + first);
  }
}

void mirror(int64_t width, std::span<float> pixels) {
  for (auto row = pixels.begin(); row != pixels.end(); row += width) std::reverse(row, row + width);
}

class ListedImages final : public ImageDataset {
 public:
  ListedImages(Vocabulary classes, LabelledImages training, LabelledImages validation,
               const DataOptions& options, std::string fingerprint, uint64_t seed,
               std::vector<std::string> notes)
      : ImageDataset(std::move(classes), validation.each, seed),
        training_(std::move(training)),
        validation_(std::move(validation)),
        validation_size_(std::min(validation_.size(), options.validation_examples)),
        shift_(options.shift),
        mirrors_(options.mirror),
        fingerprint_(std::move(fingerprint)),
        notes_(std::move(notes)) {}

  int64_t training_size() const override { return training_.size(); }
  int64_t validation_size() const override { return validation_size_; }
  std::string fingerprint() const override { return fingerprint_; }
  std::vector<std::string> notes() const override { return notes_; }

 protected:
  int64_t training_image(uint64_t number, RandomStream& change,
                         std::span<float> pixels) const override {
    const int64_t label = copy(training_, static_cast<int64_t>(number), pixels);
    if (mirrors_ && change.below(2) == 1) mirror(size().width, pixels);
    if (shift_ > 0) {
      const auto any_shift = [&] {
        return static_cast<int64_t>(change.below(2 * static_cast<uint64_t>(shift_) + 1)) - shift_;
      };
      const int64_t right = any_shift(), down = any_shift();
      const auto plane = static_cast<size_t>(size().height * size().width);
      for (size_t begin = 0; begin < pixels.size(); begin += plane) {
        move(right, down, size().height, size().width, pixels.subspan(begin, plane));
      }
    }
    return label;
  }
  int64_t validation_image(int64_t index, std::span<float> pixels) const override {
    return copy(validation_, index, pixels);
  }

 private:
  static int64_t copy(const LabelledImages& images, int64_t i, std::span<float> pixels) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(images.bytes.data()) +
                        static_cast<size_t>(i) * pixels.size();
    for (size_t p = 0; p < pixels.size(); ++p) pixels[p] = static_cast<float>(bytes[p]) / 255.0F;
    return images.labels[i];
  }

  LabelledImages training_, validation_;
  int64_t validation_size_;
  int64_t shift_;
  bool mirrors_;
  std::string fingerprint_;
  std::vector<std::string> notes_;
};

}  // namespace

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

std::unique_ptr<Dataset> make_listed_images(Vocabulary classes, LabelledImages training,
                                            LabelledImages validation, const DataOptions& options,
                                            std::string fingerprint, uint64_t seed,
                                            std::vector<std::string> notes) {
  return std::make_unique<ListedImages>(std::move(classes), std::move(training),
                                        std::move(validation), options, std::move(fingerprint),
                                        seed, std::move(notes));
}

void note_unjudged_classes(const std::vector<std::string>& names, std::span<const int64_t> judged,
                           std::vector<std::string>& notes) {
  std::vector<std::string> without;
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::count(judged, static_cast<int64_t>(i)) == 0) without.push_back(names[i]);
  }
  if (without.empty()) return;
  notes.push_back(absl::StrCat("no validation example has the class ", listed(without),
                               "; more examples, or a smaller data.train_fraction, judge it"));
}

void note_other_forms(const std::vector<std::string>& names, std::vector<std::string>& notes) {
  if (names.empty()) return;
  notes.push_back(
      absl::StrCat("written in another normal form of Unicode, and read as NFC: ", listed(names)));
}

std::vector<std::string> names_of_classes(const DataOptions& options) {
  return absl::StrSplit(options.class_names, ' ', absl::SkipEmpty());
}

std::string mistake_of_class_names(const std::vector<std::string>& names, size_t most) {
  if (names.size() < 2 || names.size() > most) {
    return absl::StrCat("must be 2 … ", most, " names, not ", names.size());
  }
  const auto vocabulary = Vocabulary::create(names);
  return vocabulary.ok() ? "" : absl::StrCat("cannot be used: ", vocabulary.status().message());
}

}  // namespace qkv
