#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/graph/op_faces.h"
#include "framework/graph/recorder.h"

namespace qkv {

// A value by its place among those of a tape.
using ValueId = int64_t;

// What an op read or made, or what was there before all ops.
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

// What ran, in order, and on what: enough to run it again elsewhere.
struct Tape {
  std::vector<TapeValue> values;
  std::vector<TapeOp> ops;

  TapeValue& operator[](ValueId id) { return values[static_cast<size_t>(id)]; }
  const TapeValue& operator[](ValueId id) const { return values[static_cast<size_t>(id)]; }
};

// Makes a tape of what was recorded.
class TapeWriter {
 public:
  // Names a tensor that existed before all ops. Does nothing for a tensor that an op has made.
  void name(const Tensor& tensor, std::string_view name, bool parameter);

  // What ran next.
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

}  // namespace qkv
