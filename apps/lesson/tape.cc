#include "apps/lesson/tape.h"

#include "absl/strings/str_cat.h"

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
  for (const Kept& field : kept_of(op)) kept.emplace_back(field.name);
  return kept;
}

}  // namespace

TapeWriter::Memory TapeWriter::memory_of(const Tensor& tensor) {
  const std::span<const int64_t> dims = tensor.shape().dims();
  return {tensor.array().raw(), std::vector<int64_t>(dims.begin(), dims.end())};
}

ValueId TapeWriter::add(const Tensor& tensor, bool computed) {
  const ValueId id = std::ssize(tape_.values);
  tape_.values.push_back({.tensor = tensor, .computed = computed});
  if (tensor.node()) by_node_[tensor.node().get()] = id;
  by_memory_[memory_of(tensor)] = id;
  return id;
}

ValueId TapeWriter::id(const Tensor& tensor) {
  if (tensor.node()) {
    const auto found = by_node_.find(tensor.node().get());
    if (found != by_node_.end()) return found->second;
  } else {
    const auto found = by_memory_.find(memory_of(tensor));
    if (found != by_memory_.end()) return found->second;
  }
  return add(tensor, /*computed=*/false);
}

void TapeWriter::name(const Tensor& tensor, std::string_view name, bool parameter) {
  TapeValue& value = tape_[id(tensor)];
  if (value.computed || !value.name.empty()) return;
  value.name = name;
  value.parameter = parameter;
}

void TapeWriter::write(const RecordedOp& recorded) {
  Op& op = *recorded.op;
  if (op.name() == "reshape" && !recorded.y.node()) return;  // a constant is one in any shape
  TapeOp written = {
      .op = std::string(op.name()), .scope = recorded.scope, .backward = recorded.in_backward};
  for (const Tensor& x : recorded.x) written.inputs.push_back(id(x));
  for (const Attribute& attribute : attributes_of(op)) {
    const auto* array = std::get_if<Array>(&attribute.value);
    if (!array) {
      written.attributes.push_back({std::string(attribute.name), attribute.value});
    } else if (array->defined()) {
      const Tensor tensor(*array);
      name(tensor, attribute.name, /*parameter=*/false);
      written.attributes.push_back({std::string(attribute.name), false, id(tensor)});
    }
  }
  if (recorded.backward_of) written.backward_of = written_.at(recorded.backward_of);
  if (recorded.y.node() && !recorded.in_backward) {  // it has a backward
    written_[&op] = tape_.ops.size();
    written.kept = kept_by(op, recorded.x.size());
  }
  written.output = add(recorded.y, /*computed=*/true);
  tape_.ops.push_back(std::move(written));
}

}  // namespace qkv
