#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "framework/core/thread_setting.h"
#include "framework/graph/op.h"

namespace qkv {

// Stands between ops and those who call them while it lives, and may change what is computed:
// mutation testing plants mistakes in backward formulas with it. What a subclass leaves as it is
// changes nothing. One for each thread, the innermost; where there is none, it costs the test of a
// pointer.
class Interceptor : ThreadSetting<Interceptor*> {
 public:
  Interceptor();
  virtual ~Interceptor() = default;

  // Replaces qkv::run.
  virtual Tensor run(std::shared_ptr<Op> op, std::vector<Tensor> inputs);
  // Replaces op.backward.
  virtual std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy);
  // What a backward formula gets when it reads input i, or the output. What is referred to must
  // live as long as that backward runs.
  virtual const Tensor& saved_input(size_t i, const Tensor& x);
  virtual Tensor saved_output(const Tensor& y);
  // Whether the gradient from one use of a tensor takes the place of that from another, to which it
  // should be added.
  virtual bool overwrites_gradients() { return false; }

  static Interceptor* current();
};

}  // namespace qkv
