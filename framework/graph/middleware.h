#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/op.h"

namespace qkv {

// Stands between the ops of its thread and their callers while it lives, to watch a computation or
// to change it. A profile takes the time of next(); a recorder keeps inputs and results; a mutant
// gives something else. Where there is none, it costs the test of a pointer.
//
// Those that change an op come first, so that the others see the op that really runs. Of those that
// change, only the innermost is asked: it hides the others.
class Middleware {
 public:
  enum class Role { kWatches, kChanges };
  explicit Middleware(Role role = Role::kWatches);
  virtual ~Middleware();
  Middleware(const Middleware&) = delete;
  Middleware& operator=(const Middleware&) = delete;

  // In the place of running the op, and of op.backward.
  virtual Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) { return next(op, x); }
  virtual std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) {
    return next(op, saved, dy);
  }

  // A stretch of the program begins and ends: "data", "optimizer" (ObservedSection).
  virtual void before_section(std::string_view /*name*/) {}
  virtual void after_section(std::string_view /*name*/) {}

  // A layer notes a tensor, under its path: "blocks.2.attention.scores".
  virtual void on_tensor(const std::string& /*path*/, const Tensor& /*x*/) {}

  // May replace input i, or the output, that a backward formula reads. The reference must stay
  // valid as long as that backward runs.
  virtual const Tensor& saved_input(size_t /*i*/, const Tensor& x) { return x; }
  virtual Tensor saved_output(const Tensor& y) { return y; }
  // Whether the gradient from one use of a tensor takes the place of that from another, to which it
  // should be added.
  virtual bool overwrites_gradients() { return false; }

  static Middleware* first();  // of this thread, or nullptr
  // Whether one does: then code that could do without an op runs as one.
  static bool any_watches();

 protected:
  // The next one that runs the op: at last its own forward or backward.
  Tensor next(const std::shared_ptr<Op>& op, TensorSpan x);
  std::vector<Tensor> next(const Op& op, const Saved& saved, const Tensor& dy);

 private:
  friend class ObservedSection;
  friend void note(std::string_view name, const Tensor& x);

  Role role_;
  Middleware** place_;  // what pointed at next_ before
  Middleware* outer_;   // what it pointed at
  Middleware* next_;
};

// Shows a tensor to those that watch, under its name in the module that runs.
void note(std::string_view name, const Tensor& x);
inline Tensor noted(std::string_view name, Tensor x) {
  note(name, x);
  return x;
}

// Past every middleware.
Tensor run_directly(std::shared_ptr<Op> op, std::vector<Tensor> inputs);

// While one lives, nothing that was there before changes ops.
class OpsAsTheyAre final : public Middleware {
 public:
  OpsAsTheyAre() : Middleware(Role::kChanges) {}
};

// Names a stretch of the program. Sections nest.
class ObservedSection {
 public:
  explicit ObservedSection(std::string_view name);
  ~ObservedSection();
  ObservedSection(const ObservedSection&) = delete;
  ObservedSection& operator=(const ObservedSection&) = delete;

 private:
  std::string_view name_;  // must outlive the section: a literal
};

// The result of f, run in a section.
template <class F>
auto in_section(std::string_view name, F&& f) {
  const ObservedSection section(name);
  return f();
}

}  // namespace qkv
