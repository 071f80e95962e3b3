#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/graph/middleware.h"

namespace qkv {

// A place in the backward formula of an op where a mistake could stand. The formula computed there
// identifies it, also at other numbers and other shapes.
struct FormulaPlace {
  std::string op;    // whose backward
  std::string text;  // "mul(y, sub(dy, sum(…)))", "dx[0] = mul(dy, x[1])", "saved x[1]",
                     // "kept rstd"
};

// Follows the backward formulas of ops as they run, and names their places to a subclass, which may
// change the result there. Reshaping and repeating (reshape, broadcast_to) are passed over.
class FormulaTracer : public Middleware {
 public:
  FormulaTracer() : Middleware(Role::kChanges) {}

  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) final;
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) final;
  const Tensor& saved_input(size_t i, const Tensor& x) final;
  Tensor saved_output(const Tensor& y) final;

 protected:
  // A step of a formula: in the place of running an op.
  virtual Tensor step(const FormulaPlace& place, std::shared_ptr<Op> op,
                      std::vector<Tensor> inputs) = 0;
  // A tensor of the forward that the formula reads.
  virtual Tensor read(const FormulaPlace& place, const Tensor& saved) = 0;
  // An array that an op keeps in a field for its formula, as soon as its forward has run.
  virtual Array keep(const FormulaPlace& place, const Array& kept) = 0;
  // The gradients that the formula returns; `places` has one for each.
  virtual void returned(const std::vector<FormulaPlace>& places, const Saved& saved,
                        std::vector<Tensor>& dx) = 0;

 private:
  // How a tensor of the formula came about, in more and more words: "…", "mul(…, …)",
  // "mul(y, sub(…, …))".
  using Origin = std::vector<std::string>;
  Origin origin_of(const Tensor& x) const;
  Origin origin_of_step(const Op& op, TensorSpan inputs) const;
  void know(const Tensor& x, Origin origin);
  Tensor run_forward(const std::shared_ptr<Op>& op, TensorSpan x);

  bool in_formula_ = false;
  std::string op_;                                                 // whose formula runs
  std::map<std::string, int> seen_;                                // how often a step came
  std::map<std::pair<const void*, std::string>, Origin> origins_;  // by storage and shape
  std::vector<Tensor> alive_;        // what origins_ knows: no storage is used again
  std::deque<Tensor> replacements_;  // of saved inputs
};

}  // namespace qkv
