#include "framework/graph/node.h"

#include <utility>

#include "framework/core/engine_state.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> next{0};
  return next++;
}

// Nodes whose last holder goes away while another node is being destroyed wait in `orphans`, which
// the outermost destructor empties, so that destruction never recurses.
void let_go(std::vector<Tensor>& inputs) {
  std::vector<Tensor>*& orphans = engine_state().orphans;
  if (orphans) {
    try {
      for (Tensor& x : inputs) orphans->push_back(std::move(x));
    } catch (const std::bad_alloc&) {  // nowhere to wait: the rest goes now, on the stack
    }
    inputs.clear();
    return;
  }
  std::vector<Tensor> queue = std::move(inputs);
  inputs.clear();
  orphans = &queue;
  while (!queue.empty()) {
    const Tensor last = std::move(queue.back());
    queue.pop_back();
  }  // destroying `last` may push its node's inputs
  orphans = nullptr;
}

}  // namespace

Node::Node() : id_(next_id()) {}

Node::Node(std::shared_ptr<Op> op, std::vector<Tensor> inputs, const Array& output)
    : id_(next_id()), op_(std::move(op)), inputs_(std::move(inputs)), scope_(Scope::current()) {
  const Saves saves = op_->saves();
  const bool saves_inputs = saves == Saves::kInputs || saves == Saves::kInputsAndOutput;
  const bool saves_output = saves == Saves::kOutput || saves == Saves::kInputsAndOutput;
  output_ = saves_output ? output : output.without_storage();
  output_version_ = output.storage().version();
  versions_.reserve(inputs_.size());
  for (Tensor& x : inputs_) {
    versions_.push_back(x.array().storage().version());
    if (!saves_inputs) x = Tensor(x.array().without_storage(), x.node());
  }
}

Node::~Node() { let_go(inputs_); }

void Node::release() {
  released_ = true;
  op_.reset();
  output_ = Array();
  let_go(inputs_);
}

}  // namespace qkv
