#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "data/dataset.h"
#include "framework/graph/op_faces.h"
#include "framework/graph/recorder.h"
#include "models/model.h"

namespace qkv {

// A value by its place among those of a tape.
using ValueId = int64_t;

// A value that an op read or made, or that was there before all ops.
struct TapeValue {
  Tensor tensor;
  bool computed = false;  // by an op
  bool parameter = false;
  std::string name = {};                // of a parameter, or of what else was there: "targets"
  std::vector<std::string> paths = {};  // what layers call it: "blocks.0.attention.scores"
  std::optional<ValueId> gradient = {};
};

// An attribute of an op. An array is a value of the tape.
struct TapeAttribute {
  std::string name;
  Attribute::Value value;                // unless it is an array
  std::optional<ValueId> array_id = {};  // where it is one
};

struct TapeOp {
  std::string op;
  std::vector<ValueId> inputs = {};
  ValueId output = 0;
  std::string scope = {};  // the place in the model
  std::vector<TapeAttribute> attributes = {};
  std::vector<std::string> kept = {};  // for its backward: "input 0", "output", "rstd"
  bool backward = false;               // it runs in the backward pass
  // There: the op whose derivative it is part of; none where gradients are added up.
  std::optional<size_t> backward_of = {};
};

// The ops that ran, in order, and their inputs: enough to run them again elsewhere.
struct Tape {
  std::vector<TapeValue> values;
  std::vector<TapeOp> ops;

  TapeValue& operator[](ValueId id) { return values[static_cast<size_t>(id)]; }
  const TapeValue& operator[](ValueId id) const { return values[static_cast<size_t>(id)]; }
};

// Makes a tape of a recording.
class TapeWriter {
 public:
  // Names a tensor that existed before all ops. Does nothing for a tensor that an op has made.
  void name(const Tensor& tensor, std::string_view name, bool parameter);

  // Writes the next op.
  void write(const RecordedOp& recorded);

  // Every tensor that has been seen has one; another becomes a value that no op made.
  ValueId id(const Tensor& tensor);

  Tape& tape() { return tape_; }

 private:
  // A tensor is known by its node, or else by its memory and shape.
  using Memory = std::pair<const void*, std::vector<int64_t>>;
  static Memory memory_of(const Tensor& tensor);
  ValueId add(const Tensor& tensor, bool computed);

  Tape tape_;  // holds all tensors, so that none's memory is used again
  std::unordered_map<const Node*, ValueId> by_node_;
  std::map<Memory, ValueId> by_memory_;
  std::unordered_map<const Op*, size_t> written_;
};

// The forward pass of a model on one example, and the backward pass from its loss.
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

// The ops of a block, "blocks.0", or of a layer of attention: from the input, as a constant, to the
// output, y, with the loss sum(dy ∘ y). Attention weights of other layers may stay to be shown.
Recording part_of(const Recording& whole, const std::string& place, bool other_weights = true);

// The tokens of the longest input of a batch; 0 for images.
int64_t longest_input(const Batch& batch);

// An op or a value of a tape, without its numbers: measured, with 50 and with 200 layers.
inline constexpr int64_t kBytesOfEntry = 400;

// An upper bound of the bytes of record(model, batch, form) for a model of these options, told
// without making either. The size of a value is a polynomial in the length, of degree 2 (scores are
// T x T), and every layer after the first has as many; so three short recordings, each with one
// layer and with two, tell the size of a long and deep one.
double expected_bytes(const ModelOptions& options, const DataShape& data, const Batch& batch,
                      DataForm form);

// An error that says how much memory the recording would take where there is not so much. Text
// needs more: a page is made of the recording, of a variant of it, and of their numbers as text.
absl::Status check_memory(const ModelOptions& options, const DataShape& data, const Batch& batch,
                          DataForm form, bool as_text);

}  // namespace qkv
