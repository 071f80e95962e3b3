#include "framework/autograd/backward.h"

#include <algorithm>
#include <utility>

#include "framework/autograd/backward_checks.h"
#include "framework/graph/graph_walk.h"
#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/kernels/kernels.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

using NodePointer = std::shared_ptr<Node>;
using Pending = std::unordered_map<const Node*, Tensor>;  // gradients that users have given so far

// sum + term, in the storage of `sum` where nobody else can see it.
Tensor accumulated(Tensor sum, const Tensor& term) {
  const ObservedSection section("sum of gradients");
  if (records({sum, term}) || sum.array().storage().is_shared()) return add(sum, term);
  Array array = sum.array();
  kernels::binary(kernels::Binary::add, array, term.array(), array);
  return sum;
}

// Adds the gradient from one use of an input to that from the others.
void add_gradient(const Node& node, size_t i, Tensor& dx, Pending& pending) {
  const Tensor& x = node.inputs()[i];
  if (!x.requires_grad() || !dx.defined()) return;
  check_gradient(node, i, dx);
  Middleware* const middleware = Middleware::first();
  Tensor& sum = pending[x.node().get()];
  const bool first = !sum.defined() || (middleware && middleware->overwrites_gradients());
  sum = first ? std::move(dx) : accumulated(std::move(sum), dx);
}

bool is_kept(const NodePointer& node, const BackwardOptions& options) {
  return std::ranges::any_of(options.keep, [&](const Tensor& x) { return x.node() == node; });
}

}  // namespace

Gradients backward(const Tensor& output, const BackwardOptions& options) {
  const ObservedSection section("backward");
  Gradients found;
  Pending pending;
  pending[output.node().get()] = starting_cotangent(output, options.cotangent);
  const RecordGradients record(options.create_graph);
  GraphWalk walk(output.node());
  for (NodePointer& node : walk.nodes()) {              // each after all who use it
    if (const auto dy = pending.extract(node.get())) {  // else its users pass no gradient on
      if (node->is_leaf() || is_kept(node, options)) found.gradients_[node] = dy.mapped();
      if (!node->is_leaf()) {
        const ScopeAt scope(node->scope());
        require_graph(*node);
        std::vector<Tensor> dx = call_backward(node, dy.mapped());
        for (size_t i = 0; i < dx.size(); ++i) add_gradient(*node, i, dx[i], pending);
        if (!options.keep_graph && !options.create_graph) node->release();
      }
    }
    walk.leave(node);
  }
  return found;
}

}  // namespace qkv
