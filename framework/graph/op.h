#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "framework/core/thread_setting.h"
#include "framework/graph/tensor.h"

namespace qkv {

class Saved;

using TensorSpan = std::span<const Tensor>;

// The arrays that forward reads.
class Inputs {
 public:
  explicit Inputs(TensorSpan tensors) : tensors_(tensors) {}
  const Array& operator[](size_t i) const { return tensors_[i].array(); }
  size_t size() const { return tensors_.size(); }

 private:
  TensorSpan tensors_;
};

// What backward reads; the storage of the rest is released.
enum class Saves { kNothing, kInputs, kOutput, kInputsAndOutput };

// An argument of an op's call besides its inputs: {"axis", 1}, {"mask", …}.
struct Attribute {
  using Value = std::variant<bool, int64_t, double, std::vector<int64_t>, Array>;

  std::string_view name;
  Value value;  // an undefined Array: the argument was not given
};

// A field of an op that its backward reads: a result of forward, a mask, indices.
struct Kept {
  const char* name;  // "rstd"
  Array* array;
};

// A differentiable function: arrays to an array, and gradients to gradients. One object a call: its
// fields are the call's attributes, and what forward keeps for backward.
class Op {
 public:
  virtual ~Op() = default;
  virtual std::string_view name() const = 0;

  virtual Array forward(const Inputs& x) = 0;

  // The gradient of each input, from the gradient of the output, written in differentiable ops. An
  // undefined Tensor means "none": the input has no gradient, or its gradient is not needed
  // (`saved.needs(i)` is false).
  virtual std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const = 0;

  virtual Saves saves() const { return Saves::kInputs; }

  // Forward mode: ẏ, how fast y moves when each input moves at x_dot[i], which is undefined where
  // it stays. The sum over the inputs of (dy/dx_i) ẋ_i, from the definition of the op and without
  // its backward, so that the two check each other; all in f64. Undefined, as here: the op has no
  // such rule. An op that gives way to a composed formula (ComposedOnly) needs none.
  virtual Tensor tangent(TensorSpan /*x*/, const Tensor& /*y*/, TensorSpan /*x_dot*/) { return {}; }

  // The arguments besides the inputs: with the shape of the output, enough to run the op again.
  virtual std::vector<Attribute> attributes() const { return {}; }

  // The fields that mutation testing overwrites.
  virtual std::vector<Kept> kept() { return {}; }
};

// Runs forward on `inputs`, and records the op where a gradient may be asked for.
Tensor run(std::shared_ptr<Op> op, std::vector<Tensor> inputs);
Tensor run_directly(std::shared_ptr<Op> op, std::vector<Tensor> inputs);  // past an Interceptor

template <class T, class... Attributes>
Tensor apply(std::vector<Tensor> inputs, Attributes&&... attributes) {
  return run(std::make_shared<T>(std::forward<Attributes>(attributes)...), std::move(inputs));
}

// While one lives, nothing is recorded: tensors come out as constants.
class NoGrad : ThreadSetting<bool> {
 public:
  NoGrad();
};

// While one lives, ops are recorded, or not; backward sets it to `create_graph`.
class RecordGradients : ThreadSetting<bool> {
 public:
  explicit RecordGradients(bool record);
};

// Whether an op on these inputs would be recorded.
bool records(TensorSpan inputs);
bool records(std::initializer_list<Tensor> inputs);

// While one lives, fused ops and fused backwards give way to the composed formulas that they must
// equal.
class ComposedOnly : ThreadSetting<bool> {
 public:
  ComposedOnly();
};
bool composed_only();

// Whether a fused backward may stand in for its composed formula: the gradient is not itself to be
// differentiated.
inline bool may_fuse(std::initializer_list<Tensor> inputs) {
  return !composed_only() && !records(inputs);
}

// Sees every op as it runs, and the sections around them, while it lives: for profiles, and to find
// where a number stopped being finite. Where there are several, all are told, the innermost first.
class Observer {
 public:
  Observer();
  virtual ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  virtual void before_forward(const Op&, const Inputs&) {}
  virtual void after_forward(const std::shared_ptr<Op>&, TensorSpan /*x*/, const Tensor& /*y*/) {}
  virtual void before_backward(const Op&, const Tensor& /*dy*/) {}
  virtual void after_backward(const Op&, const Tensor& /*dy*/, TensorSpan /*dx*/) {}

  virtual void before_section(std::string_view /*name*/) {}
  virtual void after_section(std::string_view /*name*/) {}

  // Calls f with each observer of this thread; where there is none, it costs the test of a pointer.
  template <class F>
  static void tell(F&& f) {
    for (Observer* observer = innermost(); observer; observer = observer->outer_) f(*observer);
  }
  static bool any() { return innermost() != nullptr; }

 private:
  static Observer* innermost();

  Observer* outer_;
};

// Tells the observers what a stretch of the program does: "data", "optimizer". Sections nest.
class ObservedSection {
 public:
  explicit ObservedSection(std::string_view name) : name_(name) {
    Observer::tell([name](Observer& o) { o.before_section(name); });
  }
  ~ObservedSection() {
    Observer::tell([this](Observer& o) { o.after_section(name_); });
  }
  ObservedSection(const ObservedSection&) = delete;
  ObservedSection& operator=(const ObservedSection&) = delete;

 private:
  std::string_view name_;  // must outlive the section: a literal
};

// What f gives, made in a section.
template <class F>
auto in_section(std::string_view name, F&& f) {
  const ObservedSection section(name);
  return f();
}

}  // namespace qkv
