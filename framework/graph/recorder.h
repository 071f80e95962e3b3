#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/op.h"

// What ran: whoever wants to see a run reads one recording.
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

// Lists every op that runs while it lives, in order, those of backward formulas, too.
class Recorder final : public Observer {
 public:
  explicit Recorder(std::vector<RecordedOp>& ops) : ops_(ops) { ops_.reserve(kUsual); }

  void after_forward(const std::shared_ptr<Op>& op, TensorSpan x, const Tensor& y) override;
  void before_backward(const Op& op, const Tensor& dy) override;
  void after_backward(const Op& op, const Tensor& dy, TensorSpan dx) override;
  void before_section(std::string_view name) override;
  void after_section(std::string_view name) override;

 private:
  static constexpr size_t kUsual = 64;  // ops of a function, or of a layer

  std::vector<RecordedOp>& ops_;
  int backwards_ = 0;  // that have begun and not ended
  const Op* differentiated_ = nullptr;
};

// Those that y depends on, in order.
std::vector<RecordedOp> ops_behind(const Tensor& y, const std::vector<RecordedOp>& ops);

// Runs an op once more, on other inputs. Its backward is that of these inputs, whatever the op has
// kept from other runs since.
Tensor replay(const RecordedOp& recorded, std::vector<Tensor> inputs);

}  // namespace qkv
