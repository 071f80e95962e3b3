#include "framework/autograd/backward.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "framework/core/out_of_memory.h"
#include "framework/graph/interceptor.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

using NodePointer = std::shared_ptr<Node>;

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

std::vector<Tensor> gradients_of_inputs(const Op& op, const Saved& saved, const Tensor& dy,
                                        Interceptor* interceptor) {
  try {
    return interceptor ? interceptor->backward(op, saved, dy) : op.backward(saved, dy);
  } catch (const std::bad_alloc& error) {
    throw OutOfMemory::of(error).in_op(absl::StrCat("backward of ", std::string(op.name())));
  } catch (const BackwardError&) {
    throw;  // of a walk in this one
  } catch (const std::exception& error) {
    const std::string name(op.name());
    if (absl::StartsWith(error.what(), name + ":")) throw BackwardError(error.what());
    std::throw_with_nested(BackwardError(absl::StrCat("backward of ", name, ": ", error.what())));
  }
}

void check_count(const Op& op, size_t gradients, size_t inputs) {
  if (gradients == inputs) return;
  throw BackwardError(with_place(absl::StrCat(std::string(op.name()), ": backward gave ", gradients,
                                              gradients == 1 ? " gradient" : " gradients", " for ",
                                              inputs, inputs == 1 ? " input" : " inputs")));
}

void check_gradient(const Op& op, size_t i, const Tensor& dx, const Tensor& x) {
  if (dx.shape() == x.shape() && dx.dtype() == x.dtype()) return;
  throw BackwardError(with_place(absl::StrCat(std::string(op.name()), ": backward gave ",
                                              dx.describe(), " for input ", i, " ", x.describe())));
}

}  // namespace

class BackwardWalk {
 public:
  explicit BackwardWalk(const BackwardOptions& options) : options_(options) {}

  Gradients run(const Tensor& output) {
    pending_[output.node().get()] = starting_cotangent(output, options_.cotangent);
    const RecordGradients record(options_.create_graph);
    GraphWalk walk(output.node());
    for (NodePointer& node : walk.nodes()) {
      visit(node);
      walk.leave(node);
    }
    return std::move(result_);
  }

 private:
  void visit(const NodePointer& node) {
    const auto found = pending_.find(node.get());
    if (found == pending_.end()) return;  // its users pass no gradient on
    const Tensor dy = std::move(found->second);
    pending_.erase(found);
    if (node->is_leaf() || is_kept(node)) result_.gradients_[node] = dy;
    if (node->is_leaf()) return;
    const ScopeAt scope(node->scope());
    if (node->is_released()) {
      fail(
          "backward: this graph was differentiated before and released; use keep_graph the first "
          "time");
    }
    differentiate(node, dy);
    if (!options_.keep_graph && !options_.create_graph) node->release();
  }

  void differentiate(const NodePointer& node, const Tensor& dy) {
    const Op& op = node->op();
    Interceptor* interceptor = Interceptor::current();
    Observer::tell([&](Observer& o) { o.before_backward(op, dy); });
    std::vector<Tensor> dx = gradients_of_inputs(op, Saved(node), dy, interceptor);
    check_count(op, dx.size(), node->inputs().size());
    Observer::tell([&](Observer& o) { o.after_backward(op, dy, dx); });
    for (size_t i = 0; i < dx.size(); ++i) {
      const Tensor& x = node->inputs()[i];
      if (!x.requires_grad() || !dx[i].defined()) continue;
      check_gradient(op, i, dx[i], x);
      Tensor& sum = pending_[x.node().get()];
      const bool first = !sum.defined() || (interceptor && interceptor->overwrites_gradients());
      sum = first ? std::move(dx[i]) : accumulated(std::move(sum), dx[i]);
    }
  }

  bool is_kept(const NodePointer& node) const {
    return std::ranges::any_of(options_.keep, [&](const Tensor& x) { return x.node() == node; });
  }

  const BackwardOptions& options_;
  std::unordered_map<const Node*, Tensor> pending_;
  Gradients result_;
};

Gradients backward(const Tensor& output, const BackwardOptions& options) {
  const ObservedSection section("backward");
  return BackwardWalk(options).run(output);
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
