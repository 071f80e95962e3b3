#include "tests/golden/golden_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv::golden {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const NamedArray* find(const TensorFile& file, const std::string& name) {
  const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                  [&](const NamedArray& tensor) { return tensor.name == name; });
  return found == file.tensors.end() ? nullptr : &*found;
}

double largest_magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace

GoldenFile::GoldenFile(const std::string& name)
    : path_(absl::StrCat(QKV_SOURCE_DIR, "/tests/golden/", name, ".safetensors")) {
  absl::StatusOr<TensorFile> file = read_safetensors(path_);
  if (!file.ok()) fail(file.status().ToString());
  file_ = *std::move(file);
}

Tensor GoldenFile::tensor(const std::string& name, DType dtype) const {
  const NamedArray* found = find(file_, name);
  if (!found) fail(absl::StrCat(path_, ": no tensor ", name));
  const Array& array = found->array;
  if (!is_floating(array.dtype())) return Tensor(array.copy());
  return Tensor(Array::of(array.shape(), dtype, array.to_vector()));
}

bool GoldenFile::contains(const std::string& name) const { return find(file_, name) != nullptr; }

std::vector<std::string> GoldenFile::names_under(const std::string& prefix) const {
  std::vector<std::string> names;
  for (const NamedArray& tensor : file_.tensors) {
    if (absl::StartsWith(tensor.name, prefix)) names.push_back(tensor.name.substr(prefix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string GoldenFile::text(const std::string& key) const {
  const auto found = file_.metadata.find(key);
  if (found == file_.metadata.end()) fail(absl::StrCat(path_, ": no metadata ", key));
  return found->second;
}

double GoldenFile::number(const std::string& key) const { return std::stod(text(key)); }
int64_t GoldenFile::integer(const std::string& key) const { return std::stoll(text(key)); }
bool GoldenFile::flag(const std::string& key) const { return text(key) == "true"; }

double absolute_difference(const Tensor& actual, const Tensor& expected) {
  if (actual.shape() != expected.shape()) return kInfinity;
  const std::vector<double> a = actual.to_vector(), b = expected.to_vector();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!std::isfinite(difference)) return kInfinity;
    largest = std::max(largest, difference);
  }
  return largest;
}

double relative_difference(const Tensor& actual, const Tensor& expected) {
  const double difference = absolute_difference(actual, expected);
  return difference == 0 ? 0 : difference / largest_magnitude(expected.to_vector());
}

}  // namespace qkv::golden
