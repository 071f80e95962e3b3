#include "framework/autograd/backward_checks.h"

#include <exception>
#include <new>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/graph/middleware.h"
#include "framework/graph/saved.h"

namespace qkv {

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

void require_graph(const Node& node) {
  if (!node.is_released()) return;
  fail(
      "backward: this graph was differentiated before and released; use keep_graph the first "
      "time");
}

std::vector<Tensor> call_backward(const std::shared_ptr<Node>& node, const Tensor& dy) {
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

void check_gradient(const Node& node, size_t i, const Tensor& dx) {
  const Tensor& x = node.inputs()[i];
  if (dx.shape() == x.shape() && dx.dtype() == x.dtype()) return;
  throw BackwardError(with_place(absl::StrCat(std::string(node.op().name()), ": backward gave ",
                                              dx.describe(), " for input ", i, " ", x.describe())));
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
