#pragma once

#include <map>
#include <string>
#include <vector>

#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/graph/tensor.h"

namespace qkv {

// The tensors that a forward pass came by, under their paths: "blocks.2.attention.scores". Who
// wants them has a Tracing while the pass runs; who does not, pays nothing. Their gradients are
// kept by
//
//   Gradients gradients = backward(loss, {.keep = trace.tensors()});
//   gradients[trace["blocks.2.attention.scores"]];
class Trace {
 public:
  virtual ~Trace() = default;

  // What has the path already is replaced: the last pass counts. Who needs only something of the
  // tensors takes that here, so that they need not be held.
  virtual void add(const std::string& path, const Tensor& tensor);

  bool contains(const std::string& path) const { return tensors_.contains(path); }
  const Tensor& operator[](const std::string& path) const;  // throws Error where there is none
  const std::vector<std::string>& paths() const { return paths_; }  // as they were first noted
  std::vector<Tensor> tensors() const;                              // in that order

 private:
  std::vector<std::string> paths_;
  std::map<std::string, Tensor> tensors_;
};

// While one lives, its trace gets what is noted on its thread, and attention, which else holds none
// of its steps, makes them.
class Tracing final : public Middleware {
 public:
  explicit Tracing(Trace& trace) : trace_(trace) {}
  void hear(const std::string& path, const Tensor& x) override { trace_.add(path, x); }

 private:
  Trace& trace_;
  StepByStep step_by_step_;
};

}  // namespace qkv
