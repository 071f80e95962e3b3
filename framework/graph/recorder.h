#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/middleware.h"

// The ops that ran: all that look at a run read a recording.
namespace qkv {

// One op as it ran. It holds its tensors and its op, so that no address is used again.
struct RecordedOp {
  std::shared_ptr<Op> op;
  std::vector<Tensor> x;
  Tensor y;           // its node tells who used it; a constant has none
  std::string scope;  // the place in the model
  bool in_backward = false;
  // In the backward: the op whose derivative it helps to compute; nullptr where gradients are added
  // up.
  const Op* backward_of = nullptr;
};

// One op's backward as it ran. If a kernel computes it, no RecordedOp has its results.
struct RecordedBackward {
  const Op* of = nullptr;  // recorded in the forward
  Tensor dy;
  std::vector<Tensor> dx;  // by input; undefined: none
  std::string scope;
  size_t ops_before = 0;  // how many ops had run when it ended, those of its formula among them
};

// Lists every op that runs while it lives, in order, those of backward formulas, too; and, where
// asked for, what each backward gave.
class Recorder final : public Middleware {
 public:
  explicit Recorder(std::vector<RecordedOp>& ops, std::vector<RecordedBackward>* walk = nullptr)
      : ops_(ops), walk_(walk) {
    ops_.reserve(kUsual);
  }

  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override;
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override;
  void before_section(std::string_view name) override;
  void after_section(std::string_view name) override;

 private:
  static constexpr size_t kUsual = 64;  // ops of a function, or of a layer

  std::vector<RecordedOp>& ops_;
  std::vector<RecordedBackward>* walk_;
  int backwards_ = 0;  // that have begun and not ended
  const Op* differentiated_ = nullptr;
};

// Those that y depends on, in order.
std::vector<RecordedOp> ops_behind(const Tensor& y, const std::vector<RecordedOp>& ops);

// Runs an op once more, on other inputs. Its backward is that of these inputs, whatever the op has
// kept from other runs since.
Tensor replay(const RecordedOp& recorded, std::vector<Tensor> inputs);

}  // namespace qkv
