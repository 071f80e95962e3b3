#include "framework/nn/with_parameters.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {

void Replacement::meet(const std::string& name, Tensor& tensor) {
  const size_t i = parameters().size();
  if (i >= tensors_.size() || !tensors_[i].defined() || tensors_[i].shape() != tensor.shape()) {
    fail(absl::StrCat("module: ", name, " is ", tensor.describe(), ", but its replacement ",
                      i < tensors_.size() ? tensors_[i].describe() : "is missing"));
  }
  tensor = tensors_[i];
}

void Replacement::check_all_used() const {
  if (parameters().size() == tensors_.size()) return;
  fail(absl::StrCat("module: has ", parameters().size(), " parameters, but there are ",
                    tensors_.size(), " replacements"));
}

}  // namespace qkv
