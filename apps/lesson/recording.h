#pragma once

#include <string>
#include <vector>

#include "apps/lesson/tape.h"
#include "data/dataset.h"
#include "models/model.h"

namespace qkv {

// What a model computed from one example, and how the loss came back through it.
struct Recording {
  Tape tape;
  size_t forward_ops = 0;  // the first of the tape's; the rest are of the backward pass
  ValueId loss = 0;
  // Where it is a part of a longer recording: the part, and the loss of the whole, in whose place
  // stands a function with the same gradients.
  std::string part = {};
  double whole_loss = 0;

  // Layers whose attention weights the tape has, in the order in which they run:
  // "blocks.0.attention".
  std::vector<std::string> attention_layers() const;
  const Tensor& weights_of(const std::string& layer) const;  // of one of these: [B, H, Tq, Tk]
};

// The forward pass of the model, and the backward pass from its loss. Parameters, and what layers
// tell a trace, have their names and gradients. Dropout is off.
//   batch: of one row
Recording record(const Model& model, const Batch& batch, DataForm form);

// A place in a model: a block, or a layer of attention.
struct Part {
  std::string place;          // "blocks.0"
  std::string output;         // the path of what goes out: "blocks.0.output"
  bool other_weights = true;  // attention weights of other layers stay to be shown
};
// What runs there: from what comes in, as a constant, to what goes out, y, with the loss
// sum(dy ∘ y).
Recording part_of(const Recording& whole, const Part& part);

}  // namespace qkv
