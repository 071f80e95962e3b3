#include "data/idx.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "data/file.h"
#include "data/image_dataset.h"
#include "data/tasks/files.h"
#include "data/tasks/tasks.h"

namespace qkv {
namespace {

constexpr int64_t kLargestSide = 512;  // of an image: a batch holds many
constexpr size_t kMaxClasses = 256;    // a label is a byte

// Images and their labels, of the same number.
struct LabelledImages {
  IdxArray images;  // [N, height, width]
  IdxArray labels;  // [N]

  int64_t size() const { return labels.sizes[0]; }
  int64_t label(int64_t i) const {
    return static_cast<unsigned char>(labels.bytes[static_cast<size_t>(i)]);
  }
  int64_t classes() const {  // the most that labels speak of
    int64_t largest = 0;
    for (int64_t i = 0; i < size(); ++i) largest = std::max(largest, label(i));
    return largest + 1;
  }
  int64_t copy(int64_t i, std::span<float> pixels) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(images.bytes.data()) +
                        static_cast<size_t>(i) * pixels.size();
    for (size_t p = 0; p < pixels.size(); ++p) pixels[p] = static_cast<float>(bytes[p]) / 255.0F;
    return label(i);
  }
};

// The image moved right and down, with black where it came from.
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

class IdxDataset final : public ImageDataset {
 public:
  IdxDataset(Vocabulary classes, LabelledImages training, LabelledImages validation,
             int64_t validation_size, const DataOptions& options, uint64_t seed)
      : ImageDataset(std::move(classes), training.images.sizes[1], training.images.sizes[2], seed),
        training_(std::move(training)),
        validation_(std::move(validation)),
        validation_size_(validation_size),
        shift_(options.shift),
        mirrors_(options.mirror) {
    std::string hashes;
    for (const LabelledImages* part : {&training_, &validation_}) {
      absl::StrAppend(&hashes, fingerprint_of(part->images.bytes),
                      fingerprint_of(part->labels.bytes));
    }
    fingerprint_ = fingerprint_of(hashes);
  }

  int64_t training_size() const override { return training_.size(); }
  int64_t validation_size() const override { return validation_size_; }
  std::string fingerprint() const override { return fingerprint_; }

 protected:
  int64_t training_image(uint64_t number, RandomStream& change,
                         std::span<float> pixels) const override {
    const int64_t label = training_.copy(static_cast<int64_t>(number), pixels);
    if (mirrors_ && change.below(2) == 1) mirror(width(), pixels);
    if (shift_ > 0) {
      const auto any_shift = [&] {
        return static_cast<int64_t>(change.below(2 * static_cast<uint64_t>(shift_) + 1)) - shift_;
      };
      const int64_t right = any_shift();
      move(right, any_shift(), height(), width(), pixels);
    }
    return label;
  }
  int64_t validation_image(int64_t index, std::span<float> pixels) const override {
    return validation_.copy(index, pixels);
  }

 private:
  LabelledImages training_, validation_;
  int64_t validation_size_;
  int64_t shift_;
  bool mirrors_;
  std::string fingerprint_;
};

// The file as it is named, or packed.
std::string file_in(const std::string& folder, const char* name) {
  std::string path = (std::filesystem::path(folder) / name).string();
  const std::string packed = path + ".gz";
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) || !std::filesystem::exists(packed, ignored)
             ? path
             : packed;
}

absl::StatusOr<LabelledImages> read_images(const std::string& images_path,
                                           const std::string& labels_path) {
  absl::StatusOr<IdxArray> images = read_idx(images_path, 3);
  if (!images.ok()) return images.status();
  absl::StatusOr<IdxArray> labels = read_idx(labels_path, 1);
  if (!labels.ok()) return labels.status();
  const std::vector<int64_t>& sizes = images->sizes;
  if (sizes[1] > kLargestSide || sizes[2] > kLargestSide) {
    return absl::InvalidArgumentError(absl::StrCat(images_path, ": its images of ", sizes[1], " x ",
                                                   sizes[2], " pixels are too large: at most ",
                                                   kLargestSide, " x ", kLargestSide));
  }
  if (sizes[0] != labels->sizes[0]) {
    return absl::InvalidArgumentError(absl::StrCat(images_path, ": has ", sizes[0], " images, but ",
                                                   labels_path, " has ", labels->sizes[0],
                                                   " labels"));
  }
  return LabelledImages{*std::move(images), *std::move(labels)};
}

std::vector<std::string> names_of_classes(const DataOptions& options) {
  return absl::StrSplit(options.class_names, ' ', absl::SkipEmpty());
}

// An error where a label names no class.
absl::Status check_labels(const std::string& path, const LabelledImages& images, int64_t classes,
                          const char* who_says) {
  for (int64_t i = 0; i < images.size(); ++i) {
    if (images.label(i) < classes) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ": label ", i, ", counted from 0, is ",
                                                   images.label(i), ", but ", who_says, " only ",
                                                   classes, " classes"));
  }
  return absl::OkStatus();
}

// Where nobody names the classes the largest label says how many there are: one wrong label would
// make many. An error where a class below it has no image.
absl::Status check_every_class(const std::string& path, const LabelledImages& images) {
  std::vector<int64_t> counts(static_cast<size_t>(images.classes()));
  for (int64_t i = 0; i < images.size(); ++i) ++counts[static_cast<size_t>(images.label(i))];
  const auto missing = std::ranges::find(counts, 0);
  if (missing == counts.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": its largest label is ", images.classes() - 1, ", and ",
      std::ranges::count(counts, 0), " of the labels below it have no image, the first of them ",
      missing - counts.begin(), "; if this is intended, name all ", images.classes(),
      " classes in data.class_names"));
}

absl::StatusOr<std::unique_ptr<Dataset>> make_idx(const DataOptions& options, uint64_t seed,
                                                  DataForm /*form*/) {
  const auto in_folder = [&](const char* name) { return file_in(options.path, name); };
  const std::string training_path = in_folder("train-images-idx3-ubyte");
  const std::string training_labels = in_folder("train-labels-idx1-ubyte");
  const std::string validation_path = in_folder("t10k-images-idx3-ubyte");
  const std::string validation_labels = in_folder("t10k-labels-idx1-ubyte");
  absl::StatusOr<LabelledImages> training = read_images(training_path, training_labels);
  if (!training.ok()) return training.status();
  absl::StatusOr<LabelledImages> validation = read_images(validation_path, validation_labels);
  if (!validation.ok()) return validation.status();

  const std::vector<int64_t>&a = training->images.sizes, &b = validation->images.sizes;
  if (a[1] != b[1] || a[2] != b[2]) {
    return absl::InvalidArgumentError(absl::StrCat(validation_path, ": its images have ", b[1],
                                                   " x ", b[2], " pixels, but those of ",
                                                   training_path, " have ", a[1], " x ", a[2]));
  }
  if (const int64_t smallest = std::min(a[1], a[2]); options.shift >= smallest) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.shift is ", options.shift, ", but the images of ", training_path,
                     " have ", a[1], " x ", a[2], " pixels: it must be below ", smallest,
                     ", so that a part of each image remains"));
  }
  std::vector<std::string> names = names_of_classes(options);
  const bool named = !names.empty();
  const char* who_says = named ? "data.class_names names" : "the training labels name";
  if (!named) {
    if (absl::Status s = check_every_class(training_labels, *training); !s.ok()) return s;
    for (int64_t i = 0; i < training->classes(); ++i) names.push_back(absl::StrCat(i));
  }
  const int64_t classes = std::ssize(names);
  for (const auto& status : {check_labels(training_labels, *training, classes, who_says),
                             check_labels(validation_labels, *validation, classes, who_says)}) {
    if (!status.ok()) return status;
  }
  absl::StatusOr<Vocabulary> vocabulary = Vocabulary::create(std::move(names));
  if (!vocabulary.ok()) return vocabulary.status();
  const int64_t validation_size = std::min(validation->size(), options.validation_examples);
  return std::make_unique<IdxDataset>(*std::move(vocabulary), *std::move(training),
                                      *std::move(validation), validation_size, options, seed);
}

void check_idx(const DataOptions& options, OptionChecker& check) {
  if (options.path.empty()) {
    check.add("path",
              "is missing: the task \"idx\" reads a folder of images and labels; give one with "
              "--set data.path=FOLDER");
  }
  check.range("shift", options.shift, 0, kLargestSide);
  check.range("validation_examples", options.validation_examples, 1, kMaxValidationExamples);
  const std::vector<std::string> names = names_of_classes(options);
  if (names.empty()) return;
  if (names.size() < 2 || names.size() > kMaxClasses) {
    check.add("class_names",
              absl::StrCat("must be 2 … ", kMaxClasses, " names, not ", names.size()));
  } else if (const auto vocabulary = Vocabulary::create(names); !vocabulary.ok()) {
    check.add("class_names", absl::StrCat("cannot be used: ", vocabulary.status().message()));
  }
}

}  // namespace

// The images of MNIST, or any in its files: the folder data.path has train-images-idx3-ubyte and
// train-labels-idx1-ubyte, from which training draws, and t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte, of which validation takes the first; each may be gzipped, with .gz at the
// end of its name. Each time an image of training is drawn it is moved by up to data.shift pixels
// in each direction, and with data.mirror half of the time mirrored. An error when a file cannot be
// used or does not fit the others.
TaskKind idx_task() {
  return {.name = "idx",
          .keys = {"path", "class_names", "shift", "mirror", "validation_examples"},
          .check = check_idx,
          .make = make_idx,
          .answer_length = [](const DataOptions&, int64_t) { return int64_t{1}; },
          .forms = {DataForm::kClass}};
}

}  // namespace qkv
