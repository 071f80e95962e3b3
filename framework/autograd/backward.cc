#include "framework/autograd/backward.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "framework/core/out_of_memory.h"
#include "framework/graph/middleware.h"
#include "framework/graph/node.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

using NodePointer = std::shared_ptr<Node>;
using Pending = std::unordered_map<const Node*, Tensor>;  // gradients that users have given so far

Tensor starting_cotangent(const Tensor& output, const Tensor& cotangent) {
  if (!output.defined()) fail("backward: the output is undefined");
  if (!output.requires_grad()) {
    fail(absl::StrCat("backward: ", output.describe(), " does not depend on any parameter"));
  }
  if (!cotangent.defined()) {
    if (output.size() != 1) {
      fail(absl::StrCat("backward: ", output.describe(),
                        " is not a scalar: give its gradient as `cotangent`"));
    }
    return ones(output.shape(), output.dtype());
  }
  if (cotangent.shape() != output.shape() || cotangent.dtype() != output.dtype()) {
    fail(absl::StrCat("backward: output ", output.describe(), " and cotangent ",
                      cotangent.describe(), " differ"));
  }
  return cotangent;
}

// sum + term, in the storage of `sum` where nobody else can see it.
Tensor accumulated(Tensor sum, const Tensor& term) {
  const ObservedSection section("sum of gradients");
  if (records({sum, term}) || sum.array().storage().is_shared()) return add(sum, term);
  Array array = sum.array();
  kernels::binary(kernels::Binary::add, array, term.array(), array);
  return sum;
}

// op.backward, whose mistakes name the op.
std::vector<Tensor> call_backward(const NodePointer& node, const Tensor& dy) {
  const Op& op = node->op();
  const auto name = [&op] { return std::string(op.name()); };
  std::vector<Tensor> dx;
  try {
    Middleware* const middleware = Middleware::first();
    dx = middleware ? middleware->backward(op, Saved(node), dy) : op.backward(Saved(node), dy);
  } catch (const std::bad_alloc& error) {
    throw OutOfMemory::of(error).in_op("backward of " + name());
  } catch (const BackwardError&) {
    throw;  // of a walk in this one
  } catch (const std::exception& error) {
    if (absl::StartsWith(error.what(), name() + ":")) throw BackwardError(error.what());
    std::throw_with_nested(BackwardError(absl::StrCat("backward of ", name(), ": ", error.what())));
  }
  const size_t inputs = node->inputs().size();
  if (dx.size() != inputs) {
    throw BackwardError(with_place(absl::StrCat(
        name(), ": backward gave ", dx.size(), dx.size() == 1 ? " gradient" : " gradients", " for ",
        inputs, inputs == 1 ? " input" : " inputs")));
  }
  return dx;
}

// Adds what one use of an input gives to what the others gave.
void add_gradient(const Node& node, size_t i, Tensor& dx, Pending& pending) {
  const Tensor& x = node.inputs()[i];
  if (!x.requires_grad() || !dx.defined()) return;
  if (dx.shape() != x.shape() || dx.dtype() != x.dtype()) {
    throw BackwardError(
        with_place(absl::StrCat(std::string(node.op().name()), ": backward gave ", dx.describe(),
                                " for input ", i, " ", x.describe())));
  }
  Middleware* const middleware = Middleware::first();
  Tensor& sum = pending[x.node().get()];
  const bool first = !sum.defined() || (middleware && middleware->overwrites_gradients());
  sum = first ? std::move(dx) : accumulated(std::move(sum), dx);
}

void require_graph(const Node& node) {
  if (!node.is_released()) return;
  fail(
      "backward: this graph was differentiated before and released; use keep_graph the first "
      "time");
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

const Tensor& Gradients::operator[](const Tensor& x) const {
  const auto found = gradients_.find(x.node());
  if (found == gradients_.end()) {
    if (!x.defined()) fail("gradients: there is none for an undefined tensor");
    fail(absl::StrCat("gradients: there is none for ", x.describe(), ": ",
                      x.requires_grad()
                          ? "the output does not depend on it, or it is neither a leaf "
                            "nor in `keep`"
                          : "it is a constant"));
  }
  return found->second;
}

bool Gradients::contains(const Tensor& x) const {
  return x.node() && gradients_.contains(x.node());
}

}  // namespace qkv
