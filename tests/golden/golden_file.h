#pragma once

#include <string>
#include <vector>

#include "framework/graph/tensor.h"
#include "framework/io/safetensors.h"

namespace qkv::golden {

// One of the files beside this one; make_golden.py says what is in them. Throws Error when it can't
// be read, and when something is asked for that it doesn't hold.
class GoldenFile {
 public:
  // "training" reads tests/golden/training.safetensors.
  explicit GoldenFile(const std::string& name);

  // Numbers are converted to `dtype`; indices and masks stay what they are.
  Tensor tensor(const std::string& name, DType dtype = DType::f64) const;
  bool contains(const std::string& name) const;
  std::vector<std::string> names_under(const std::string& prefix) const;  // sorted, without it

  std::string text(const std::string& key) const;
  double number(const std::string& key) const;
  int64_t integer(const std::string& key) const;
  bool flag(const std::string& key) const;

 private:
  std::string path_;
  TensorFile file_;
};

// max|actual - expected|, and the same divided by max|expected|. Infinite when a number is not
// finite or the shapes differ.
double absolute_difference(const Tensor& actual, const Tensor& expected);
double relative_difference(const Tensor& actual, const Tensor& expected);

}  // namespace qkv::golden
