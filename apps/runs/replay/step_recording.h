#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/core/text/names.h"
#include "framework/graph/tensor.h"
#include "train/loop/trainer.h"

namespace qkv {

enum class StepPart { kForward, kBackward, kNorm, kUpdate, kEvaluation };
template <>
inline constexpr Named<StepPart> kNames<StepPart>[] = {{"forward", StepPart::kForward},
                                                       {"backward", StepPart::kBackward},
                                                       {"gradient norm", StepPart::kNorm},
                                                       {"update", StepPart::kUpdate},
                                                       {"evaluation", StepPart::kEvaluation}};

// An operand of a computed number.
struct StepOperand {
  std::string name;  // of a parameter, or "the result of linear (forward, in blocks.0)"
  Tensor tensor = {};
  bool is_parameter = false;
  bool is_masked = false;  // it is -inf on purpose where something is hidden
};

// One result of a training step: of an op, of a kernel that is the backward of one, of the
// optimizer for one parameter.
struct StepEntry {
  std::string op;           // "softmax", "adamw"
  std::string within = {};  // in the backward: the op whose derivative it helps to compute
  std::string path = {};    // the place in the model; of an update the parameter
  StepPart part = StepPart::kForward;
  std::vector<StepOperand> operands = {};
  Tensor output;
  // Computes it once more from other operands, so that it can be differentiated. Empty: it is
  // computed element by element, or from everything.
  std::function<Tensor(const std::vector<Tensor>&)> again = {};
  // The same from these operands in f64, where no op computes it.
  std::function<Tensor()> exact = {};

  bool masks() const { return op == "masked_fill"; }  // -inf on purpose
  std::string describe() const;  // "matmul in the backward of linear, in blocks.0.attention"
};

// All that a step computed, in order.
struct StepRecording {
  std::vector<StepEntry> entries;
  double loss = 0, grad_norm = 0, learning_rate = 0;
  double validation_loss = 0;  // where it was evaluated

  // The first with a number that is not finite; entries.size(): all are.
  size_t first_bad() const;
};

// Makes the trainer's next step, the update only where its gradient is finite; and, where asked
// for, the evaluation after it: if the loss of one of its batches is not finite, records that batch
// instead of the step. The recording holds every number of the step. The trainer is of no further
// use.
StepRecording record_step(Trainer& trainer, const Config& config, const Dataset& dataset,
                          bool evaluate);
// The evaluation alone, of a step that is made.
StepRecording record_evaluation(const Trainer& trainer, const Config& config,
                                const Dataset& dataset);

}  // namespace qkv
