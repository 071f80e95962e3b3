#pragma once

#include <cstdint>
#include <memory>
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
                                            std::string fingerprint, uint64_t seed);

inline constexpr int64_t kLargestSide = 512;  // of an image: a batch holds many

// Those of data.class_names.
std::vector<std::string> names_of_classes(const DataOptions& options);

// What is wrong with names of classes; "": nothing.
std::string mistake_of_class_names(const std::vector<std::string>& names, size_t most);

}  // namespace qkv
