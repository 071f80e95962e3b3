#include "framework/graph/op.h"

#include <algorithm>

#include "framework/core/engine_state.h"
#include "framework/core/out_of_memory.h"
#include "framework/core/wide.h"
#include "framework/graph/middleware.h"
#include "framework/graph/node.h"

namespace qkv {
namespace {

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

}  // namespace

Tensor run(std::shared_ptr<Op> op, std::vector<Tensor> inputs) {
  if (WideRun::is_on()) widen(inputs);
  Middleware* const middleware = Middleware::first();
  return middleware ? middleware->forward(op, inputs)
                    : run_directly(std::move(op), std::move(inputs));
}

Tensor run_directly(std::shared_ptr<Op> op, std::vector<Tensor> inputs) {
  Array y = forward(*op, Inputs(inputs));
  if (!records(inputs)) return Tensor(std::move(y));
  auto node = std::make_shared<Node>(std::move(op), std::move(inputs), y);
  return Tensor(std::move(y), std::move(node));
}

NoGrad::NoGrad() : ThreadSetting(engine_state().recording, false) {}
RecordGradients::RecordGradients(bool record) : ThreadSetting(engine_state().recording, record) {}

bool records(TensorSpan inputs) {
  return engine_state().recording && std::ranges::any_of(inputs, &Tensor::requires_grad);
}
bool records(std::initializer_list<Tensor> inputs) {
  return records(TensorSpan(inputs.begin(), inputs.size()));
}

}  // namespace qkv
