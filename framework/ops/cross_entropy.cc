// With V classes, smoothing s, and one target class for each row:
//   p = softmax(logits),  q = (1 - s) one_hot(target) + s / V      logits, p, q: [N, V]
//   loss = -sum(q log(p)) over V, 0 where the target is ignored    target, loss: [N]
//   dlogits = (p - q) dloss, 0 where the target is ignored
// The result is sum(loss) / divisor, a scalar.
//
// Label smoothing: Szegedy et al., "Rethinking the Inception architecture", 2016.

#include "framework/ops/support/cross_entropy_formula.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class CrossEntropy final : public Op, public HasAttributes, public HasKept {
 public:
  CrossEntropy(const Array& targets, const CrossEntropyOptions& options)
      : targets_(targets), options_(options) {}
  std::string_view name() const override { return "cross_entropy"; }
  std::vector<Attribute> attributes() const override {
    return {{"targets", targets_},
            {"ignored", options_.ignored},
            {"label_smoothing", options_.label_smoothing}};
  }

  Array forward(const Inputs& x) override {
    Array loss(targets_.shape(), x[0].dtype());
    log_sum_exp_ = Array(targets_.shape(), x[0].dtype());
    kernels::cross_entropy(x[0], targets_, options_.ignored, options_.label_smoothing, loss,
                           log_sum_exp_);
    return loss;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dloss) const override {
    const Tensor& logits = saved.input(0);
    if (!may_fuse({logits, dloss})) {
      return {cross_entropy_gradient(logits, targets_, options_, dloss)};
    }
    Array dlogits(logits.shape(), logits.dtype());
    kernels::cross_entropy_backward(logits.array(), targets_, log_sum_exp_, options_.ignored,
                                    options_.label_smoothing, dloss.array(), dlogits);
    return {Tensor(dlogits)};
  }

  std::vector<Kept> kept() override {
    return {{"targets", &targets_}, {"log_sum_exp", &log_sum_exp_}};
  }

 private:
  Array targets_;  // [N]
  CrossEntropyOptions options_;
  Array log_sum_exp_;  // [N]
};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
  check_cross_entropy(logits, targets, options);
  const Array rows = targets.array().reshaped({targets.size()});
  const Tensor flat = reshape(logits, {targets.size(), logits.dim(-1)});
  const Tensor losses = composed_only() || flat.dim(1) == 0
                            ? cross_entropy_formula(flat, rows, options)
                            : apply<CrossEntropy>({flat}, rows, options);
  return sum(losses) / divisor_of(rows, options);
}

}  // namespace qkv
