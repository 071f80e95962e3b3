#include "framework/graph/op.h"

#include <algorithm>

#include "framework/core/out_of_memory.h"
#include "framework/core/wide.h"
#include "framework/graph/interceptor.h"
#include "framework/graph/node.h"

namespace qkv {
namespace {

thread_local bool recording = true;
thread_local bool only_composed = false;
thread_local Observer* innermost_observer = nullptr;

Array forward(Op& op, const Inputs& x) {
  try {
    if (!WideRun::is_on()) return op.forward(x);
    const WideRun::Running running(op.name());
    return op.forward(x);
  } catch (const std::bad_alloc& error) {
    throw OutOfMemory::of(error).in_op(op.name());
  }
}

// In a wide run, what was made before it.
void widen(std::vector<Tensor>& inputs) {
  for (Tensor& x : inputs) {
    if (x.defined() && x.dtype() == DType::f64) x = Tensor(wide_copy(x.array()), x.node());
  }
}

Tensor with_node(std::shared_ptr<Op> op, std::vector<Tensor> inputs, Array y) {
  if (!records(inputs)) return Tensor(std::move(y));
  auto node = std::make_shared<Node>(std::move(op), std::move(inputs), y);
  return Tensor(std::move(y), std::move(node));
}

}  // namespace

Tensor run(std::shared_ptr<Op> op, std::vector<Tensor> inputs) {
  if (WideRun::is_on()) widen(inputs);
  Interceptor* interceptor = Interceptor::current();
  return interceptor ? interceptor->run(std::move(op), std::move(inputs))
                     : run_directly(std::move(op), std::move(inputs));
}

Tensor run_directly(std::shared_ptr<Op> op, std::vector<Tensor> inputs) {
  Observer::tell([&](Observer& o) { o.before_forward(*op, Inputs(inputs)); });
  Array array = forward(*op, Inputs(inputs));
  if (!Observer::any()) return with_node(std::move(op), std::move(inputs), std::move(array));
  Tensor y = with_node(op, inputs, std::move(array));
  Observer::tell([&](Observer& o) { o.after_forward(op, inputs, y); });
  return y;
}

NoGrad::NoGrad() : ThreadSetting(recording, false) {}
RecordGradients::RecordGradients(bool record) : ThreadSetting(recording, record) {}

bool records(TensorSpan inputs) {
  return recording && std::ranges::any_of(inputs, &Tensor::requires_grad);
}
bool records(std::initializer_list<Tensor> inputs) {
  return records(TensorSpan(inputs.begin(), inputs.size()));
}

ComposedOnly::ComposedOnly() : ThreadSetting(only_composed, true) {}
bool composed_only() { return only_composed; }

Observer::Observer() : outer_(std::exchange(innermost_observer, this)) {}
Observer::~Observer() { innermost_observer = outer_; }
Observer* Observer::innermost() { return innermost_observer; }

}  // namespace qkv
