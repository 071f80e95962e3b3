#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/image_dataset.h"
#include "data/options.h"

namespace qkv {

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

// What is wrong with names of classes; "": nothing.
std::string mistake_of_class_names(const std::vector<std::string>& names, size_t most);

}  // namespace qkv
