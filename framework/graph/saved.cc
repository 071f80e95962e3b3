#include "framework/graph/saved.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/middleware.h"

namespace qkv {

const Tensor& Saved::input(size_t i) const {
  const Tensor& x = node_->inputs_[i];
  const Storage& storage = x.array().storage();
  if (!storage) {
    fail(absl::StrCat(std::string(node_->op_->name()), ": backward reads input ", i,
                      ", which its saves() does not keep"));
  }
  if (storage.version() != node_->versions_[i]) {
    fail(absl::StrCat(std::string(node_->op_->name()), ": input ", i, " ", x.describe(),
                      " was changed in place between forward and backward"));
  }
  Middleware* const middleware = Middleware::first();
  return middleware ? middleware->saved_input(i, x) : x;
}

Tensor Saved::output() const {
  const Array& y = node_->output_;
  if (!y.storage()) {
    fail(absl::StrCat(std::string(node_->op_->name()),
                      ": backward reads the output, which its saves() does not keep"));
  }
  if (y.storage().version() != node_->output_version_) {
    fail(absl::StrCat(std::string(node_->op_->name()), ": output ", y.describe(),
                      " was changed in place between forward and backward"));
  }
  Middleware* const middleware = Middleware::first();
  return middleware ? middleware->saved_output(Tensor(y, node_)) : Tensor(y, node_);
}

}  // namespace qkv
