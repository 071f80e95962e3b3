#include "lessons/explain/tape.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/node.h"

namespace qkv {
namespace {

// What the op keeps, in words.
std::vector<std::string> kept_by(Op& op, size_t inputs) {
  std::vector<std::string> kept;
  const Saves saves = op.saves();
  if (saves == Saves::kInputs || saves == Saves::kInputsAndOutput) {
    for (size_t i = 0; i < inputs; ++i) kept.push_back(absl::StrCat("input ", i));
  }
  if (saves == Saves::kOutput || saves == Saves::kInputsAndOutput) kept.emplace_back("output");
  for (const Kept& field : op.kept()) kept.emplace_back(field.name);
  return kept;
}

}  // namespace

TapeRecorder::Memory TapeRecorder::memory_of(const Tensor& tensor) {
  const std::span<const int64_t> dims = tensor.shape().dims();
  return {tensor.array().raw(), std::vector<int64_t>(dims.begin(), dims.end())};
}

ValueId TapeRecorder::add(const Tensor& tensor, bool computed) {
  const ValueId id = std::ssize(tape_.values);
  tape_.values.push_back({.tensor = tensor, .computed = computed});
  if (tensor.node()) by_node_[tensor.node().get()] = id;
  by_memory_[memory_of(tensor)] = id;
  return id;
}

ValueId TapeRecorder::id(const Tensor& tensor) {
  if (tensor.node()) {
    const auto found = by_node_.find(tensor.node().get());
    if (found != by_node_.end()) return found->second;
  } else {
    const auto found = by_memory_.find(memory_of(tensor));
    if (found != by_memory_.end()) return found->second;
  }
  return add(tensor, /*computed=*/false);
}

void TapeRecorder::name(const Tensor& tensor, std::string_view name, bool parameter) {
  TapeValue& value = tape_[id(tensor)];
  if (value.computed || !value.name.empty()) return;
  value.name = name;
  value.parameter = parameter;
}

TapeOp TapeRecorder::record_of(const Op& op, const std::vector<Tensor>& inputs) {
  TapeOp record = {.op = std::string(op.name()),
                   .scope = Scope::current(),
                   .backward = in_backward_,
                   .backward_of = differentiated_};
  for (const Tensor& x : inputs) record.inputs.push_back(id(x));
  for (const Attribute& attribute : op.attributes()) {
    const auto* array = std::get_if<Array>(&attribute.value);
    if (!array) {
      record.attributes.push_back({std::string(attribute.name), attribute.value});
    } else if (array->defined()) {
      const Tensor tensor(*array);
      name(tensor, attribute.name, /*parameter=*/false);
      record.attributes.push_back({std::string(attribute.name), false, id(tensor)});
    }
  }
  return record;
}

Tensor TapeRecorder::run(std::unique_ptr<Op> op, std::vector<Tensor> inputs) {
  TapeOp record = record_of(*op, inputs);
  Op* const address = op.get();
  Tensor y = run_directly(std::move(op), std::move(inputs));
  if (y.node() && !in_backward_) {  // where the op lives on
    recorded_[address] = tape_.ops.size();
    record.kept = kept_by(*address, record.inputs.size());
  }
  record.output = add(y, /*computed=*/true);
  tape_.ops.push_back(std::move(record));
  return y;
}

std::vector<Tensor> TapeRecorder::backward(const Op& op, const Saved& saved, const Tensor& dy) {
  differentiated_ = recorded_.at(&op);
  std::vector<Tensor> dx = op.backward(saved, dy);
  differentiated_.reset();
  return dx;
}

}  // namespace qkv
