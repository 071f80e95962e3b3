#pragma once

#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"

namespace qkv {

inline DataOptions shapes(int64_t size = 16) {
  DataOptions options;
  options.task = "shapes";
  options.image_size = size;
  return options;
}

inline std::vector<double> pixels_of(const Batch& batch, int64_t row) {
  const std::vector<double> all = batch.inputs[0].to_vector();
  const int64_t size = std::ssize(all) / batch.rows();
  return {all.begin() + row * size, all.begin() + (row + 1) * size};
}

inline std::string class_of(const Dataset& dataset, const Batch& batch, int64_t row) {
  return dataset.vocabulary().decode({batch.targets.data<int64_t>() + row, 1});
}

}  // namespace qkv
