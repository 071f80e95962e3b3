#include "framework/graph/op.h"

#include "framework/core/memory/out_of_memory.h"
#include "framework/core/wide.h"
#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
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

// In a wide run, widens inputs that are older than it.
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

}  // namespace qkv
