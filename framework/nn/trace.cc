#include "framework/nn/trace.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/core/text/mistakes.h"

namespace qkv {

void Trace::add(const std::string& path, const Tensor& tensor) {
  const bool is_new = tensors_.insert_or_assign(path, tensor).second;
  if (is_new) paths_.push_back(path);
}

const Tensor& Trace::operator[](const std::string& path) const {
  const auto found = tensors_.find(path);
  if (found != tensors_.end()) return found->second;
  fail(absl::StrCat("trace: there is no \"", path, "\"; there are ", listed(paths_)));
}

std::vector<Tensor> Trace::tensors() const {
  std::vector<Tensor> all;
  for (const std::string& path : paths_) all.push_back(tensors_.at(path));
  return all;
}

}  // namespace qkv
