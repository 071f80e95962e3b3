#pragma once

#include <map>
#include <string>
#include <vector>

#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/graph/tensor.h"

namespace qkv {

// The intermediate tensors of a forward pass, by path: "blocks.2.attention.scores". A Tracing
// collects them while it lives; without one nothing is stored. This keeps their gradients:
//
//   Gradients gradients = backward(loss, {.keep = trace.tensors()});
//   gradients[trace["blocks.2.attention.scores"]];
class Trace {
 public:
  virtual ~Trace() = default;

  // A second tensor with the same path replaces the first. Override this to keep only a part of
  // each tensor.
  virtual void add(const std::string& path, const Tensor& tensor);

  bool contains(const std::string& path) const { return tensors_.contains(path); }
  const Tensor& operator[](const std::string& path) const;  // throws Error where there is none
  const std::vector<std::string>& paths() const { return paths_; }  // as they were first noted
  std::vector<Tensor> tensors() const;                              // in that order

 private:
  std::vector<std::string> paths_;
  std::map<std::string, Tensor> tensors_;
};

// While one lives, its trace collects the tensors that layers note on its thread, and attention
// computes its steps one by one to note them.
class Tracing final : public Middleware {
 public:
  explicit Tracing(Trace& trace) : trace_(trace) {}
  void on_tensor(const std::string& path, const Tensor& x) override { trace_.add(path, x); }

 private:
  Trace& trace_;
  StepByStep step_by_step_;
};

}  // namespace qkv
