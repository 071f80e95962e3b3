#include "data/images/idx.h"

#include <filesystem>

#include "data/file.h"
#include "data/images/image_dataset.h"
#include "data/tasks/task_kit.h"
#include "framework/core/status.h"

namespace qkv {
namespace {

constexpr size_t kMaxClasses = 256;  // a label is a byte

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
                                           const std::string& labels_path, std::string& hashes) {
  ASSIGN_OR_RETURN(IdxArray images, read_idx(images_path, 3));
  ASSIGN_OR_RETURN(IdxArray labels, read_idx(labels_path, 1));
  const std::vector<int64_t>& sizes = images.sizes;
  if (sizes[1] > kLargestSide || sizes[2] > kLargestSide) {
    return invalid_argument(images_path, ": its images of ", sizes[1], " x ", sizes[2],
                            " pixels are too large: at most ", kLargestSide, " x ", kLargestSide);
  }
  if (sizes[0] != labels.sizes[0]) {
    return invalid_argument(images_path, ": has ", sizes[0], " images, but ", labels_path, " has ",
                            labels.sizes[0], " labels");
  }
  absl::StrAppend(&hashes, fingerprint_of(images.bytes), fingerprint_of(labels.bytes));
  LabelledImages read{{1, sizes[1], sizes[2]}, std::move(images.bytes), {}};
  for (const char label : labels.bytes) read.labels.push_back(static_cast<unsigned char>(label));
  return read;
}

// An error where a label names no class.
absl::Status check_labels(const std::string& path, const LabelledImages& images, int64_t classes,
                          const char* who_says) {
  const auto wrong =
      std::ranges::find_if(images.labels, [classes](int64_t label) { return label >= classes; });
  if (wrong == images.labels.end()) return absl::OkStatus();
  return invalid_argument(path, ": label ", wrong - images.labels.begin(), ", counted from 0, is ",
                          *wrong, ", but ", who_says, " only ", classes, " classes");
}

// Where nobody names the classes the largest label says how many there are: one wrong label would
// make many. An error where a class below it has no image.
absl::Status check_every_class(const std::string& path, const LabelledImages& images,
                               int64_t classes) {
  std::vector<int64_t> counts(static_cast<size_t>(classes));
  for (const int64_t label : images.labels) ++counts[label];
  const auto missing = std::ranges::find(counts, 0);
  if (missing == counts.end()) return absl::OkStatus();
  return invalid_argument(
      path, ": its largest label is ", classes - 1, ", and ", std::ranges::count(counts, 0),
      " of the labels below it have no image, the first of them ", missing - counts.begin(),
      "; if this is intended, name all ", classes, " classes in data.class_names");
}

absl::StatusOr<std::unique_ptr<Dataset>> make_idx(const DataOptions& options, uint64_t seed,
                                                  DataForm /*form*/, const Wait& /*wait*/) {
  const auto in_folder = [&](const char* name) { return file_in(options.path, name); };
  const std::string training_path = in_folder("train-images-idx3-ubyte");
  const std::string training_labels = in_folder("train-labels-idx1-ubyte");
  const std::string validation_path = in_folder("t10k-images-idx3-ubyte");
  const std::string validation_labels = in_folder("t10k-labels-idx1-ubyte");
  std::string hashes;
  ASSIGN_OR_RETURN(LabelledImages training, read_images(training_path, training_labels, hashes));
  ASSIGN_OR_RETURN(LabelledImages validation,
                   read_images(validation_path, validation_labels, hashes));

  const ImageSize &a = training.each, &b = validation.each;
  if (a.height != b.height || a.width != b.width) {
    return invalid_argument(validation_path, ": its images have ", b.height, " x ", b.width,
                            " pixels, but those of ", training_path, " have ", a.height, " x ",
                            a.width);
  }
  if (const int64_t smallest = std::min(a.height, a.width); options.shift >= smallest) {
    return invalid_argument("data.shift is ", options.shift, ", but the images of ", training_path,
                            " have ", a.height, " x ", a.width, " pixels: it must be below ",
                            smallest, ", so that a part of each image remains");
  }
  std::vector<std::string> names = names_of_classes(options);
  const bool named = !names.empty();
  const char* who_says = named ? "data.class_names names" : "the training labels name";
  if (!named) {
    const int64_t most = 1 + *std::ranges::max_element(training.labels);
    RETURN_IF_ERROR(check_every_class(training_labels, training, most));
    for (int64_t i = 0; i < most; ++i) names.push_back(absl::StrCat(i));
  }
  const int64_t classes = std::ssize(names);
  RETURN_IF_ERROR(check_labels(training_labels, training, classes, who_says));
  RETURN_IF_ERROR(check_labels(validation_labels, validation, classes, who_says));
  ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::create(std::move(names)));
  return make_listed_images(std::move(vocabulary), std::move(training), std::move(validation),
                            options, fingerprint_of(hashes), seed);
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
  const std::string mistake = mistake_of_class_names(names, kMaxClasses);
  if (!mistake.empty()) check.add("class_names", mistake);
}

}  // namespace

// The images of MNIST, or any in its files: the folder data.path has train-images-idx3-ubyte and
// train-labels-idx1-ubyte, from which training draws, and t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte, whose first images validate; each may be gzipped, with .gz at the end of
// its name. Each time an image of training is drawn, it is moved by up to data.shift pixels in each
// direction, and with data.mirror mirrored half of the time. An error when a file cannot be used or
// does not fit the others.
TaskKind idx_task() {
  return {.name = "idx",
          .keys = {"path", "class_names", "shift", "mirror", "validation_examples"},
          .check = check_idx,
          .make = make_idx,
          .forms = {DataForm::kClass}};
}

}  // namespace qkv
