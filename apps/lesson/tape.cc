#include "apps/lesson/tape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/graph/modes.h"
#include "framework/nn/trace.h"
#include "framework/ops/ops.h"
#include "train/evaluate/evaluate.h"

namespace qkv {
namespace {

constexpr std::string_view kAttention = "attention.weights";
constexpr std::string_view kWeightsSuffix = ".weights";

// The names of the inputs of a batch.
std::vector<std::string_view> names_of_inputs(DataForm form, bool is_image) {
  if (is_image) return {"pixels"};
  if (form == DataForm::kSourceTarget) return {"source", "target"};
  return {"tokens"};
}

void name_leaves(TapeWriter& writer, const Model& model, const Batch& batch, DataForm form) {
  for (const auto& [name, tensor] : parameters(model)) writer.name(tensor, name, true);
  const std::vector<std::string_view> names = names_of_inputs(form, model.data().is_image());
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    writer.name(Tensor(batch.inputs[i]), names[i], false);
  }
  writer.name(Tensor(batch.targets), "targets", false);
}

bool has_weights(const TapeValue& value) {
  return std::ranges::any_of(value.paths,
                             [](const std::string& path) { return path.ends_with(kAttention); });
}

// Copies a part of a tape, under new numbers.
class TapeCutter {
 public:
  TapeCutter(const Tape& from, Tape& to) : from_(from), to_(to), ids_(from.values.size(), -1) {}

  ValueId copied(ValueId id) {
    ValueId& to = ids_[static_cast<size_t>(id)];
    if (to >= 0) return to;
    to = std::ssize(to_.values);
    to_.values.push_back(from_[id]);
    to_.values.back().gradient.reset();
    to_.values.back().computed = false;
    return to;
  }

  void copy_op(size_t index) {
    TapeOp op = from_.ops[index];
    for (ValueId& input : op.inputs) input = copied(input);
    for (TapeAttribute& attribute : op.attributes) {
      if (attribute.array_id) attribute.array_id = copied(*attribute.array_id);
    }
    op.output = copied(op.output);
    to_[op.output].computed = true;
    if (op.backward_of) op.backward_of = op_numbers_.at(*op.backward_of);
    op_numbers_[index] = to_.ops.size();
    to_.ops.push_back(std::move(op));
  }

  bool has_op(size_t index) const { return op_numbers_.contains(index); }

  // Once every value is there.
  void link_gradients() {
    for (size_t i = 0; i < ids_.size(); ++i) {
      const std::optional<ValueId> gradient = from_.values[i].gradient;
      if (ids_[i] < 0 || !gradient || ids_[static_cast<size_t>(*gradient)] < 0) continue;
      to_[ids_[i]].gradient = ids_[static_cast<size_t>(*gradient)];
    }
  }

 private:
  const Tape& from_;
  Tape& to_;
  std::vector<ValueId> ids_;
  std::map<size_t, size_t> op_numbers_;
};

// The loss sum(y ∘ dy), as ops of the tape.
ValueId add_loss(Tape& tape, ValueId y, ValueId dy) {
  const NoGrad no_grad;
  const auto add = [&tape](const char* name, std::vector<ValueId> inputs, const Tensor& made) {
    tape.ops.push_back(
        {.op = name, .inputs = std::move(inputs), .output = std::ssize(tape.values)});
    tape.values.push_back({.tensor = made, .computed = true});
    return tape.ops.back().output;
  };
  const Tensor products = tape[y].tensor.detached() * tape[dy].tensor.detached();
  const ValueId product = add("mul", {y, dy}, products);
  const ValueId loss = add("sum_to", {product}, sum_to(products, Shape{}));
  tape[loss].paths.emplace_back("loss");
  return loss;
}

}  // namespace

std::vector<std::string> Recording::attention_layers() const {
  std::vector<std::string> layers;
  for (const TapeValue& value : tape.values) {
    for (const std::string& path : value.paths) {
      if (path.ends_with(kAttention))
        layers.push_back(path.substr(0, path.size() - kWeightsSuffix.size()));
    }
  }
  return layers;
}

const Tensor& Recording::weights_of(const std::string& layer) const {
  const std::string path = layer + ".weights";
  for (const TapeValue& value : tape.values) {
    if (std::ranges::find(value.paths, path) != value.paths.end()) return value.tensor;
  }
  fail(absl::StrCat("recording: there is no ", path));
}

Recording record(const Model& model, const Batch& batch, DataForm form) {
  std::vector<RecordedOp> ops;
  const Recorder recorder(ops);
  Trace trace;
  const BatchLoss result = [&] {
    const Tracing tracing(trace);
    ForwardContext context;
    return batch_loss(model, batch, {}, context);
  }();
  trace.add("logits", result.logits);
  trace.add("loss", result.loss);
  const Gradients gradients =
      backward(result.loss, {.create_graph = true, .keep = trace.tensors()});

  TapeWriter writer;
  name_leaves(writer, model, batch, form);
  const auto backward_ops = std::ranges::find_if(ops, &RecordedOp::in_backward);
  for (auto op = ops.begin(); op != backward_ops; ++op) writer.write(*op);
  Recording recording;
  recording.loss = writer.id(result.loss);
  recording.forward_ops = writer.tape().ops.size();
  for (const std::string& path : trace.paths()) {
    writer.tape()[writer.id(trace[path])].paths.push_back(path);
  }
  for (auto op = backward_ops; op != ops.end(); ++op) writer.write(*op);
  const auto note_gradient = [&](const Tensor& tensor) {
    if (!gradients.contains(tensor)) return;
    const ValueId gradient = writer.id(gradients[tensor]);
    writer.tape()[writer.id(tensor)].gradient = gradient;
  };
  for (const Tensor& tensor : trace.tensors()) note_gradient(tensor);
  for (const auto& [name, tensor] : parameters(model)) note_gradient(tensor);
  recording.whole_loss = result.loss.item();
  recording.tape = std::move(writer.tape());
  return recording;
}

Recording part_of(const Recording& whole, const std::string& place, bool other_weights) {
  const Tape& from = whole.tape;
  const auto is_inside = [&](const TapeOp& op) {
    return op.scope == place || op.scope.starts_with(place + ".");
  };
  Recording part;
  part.part = place;
  part.whole_loss = whole.whole_loss;
  TapeCutter cutter(from, part.tape);
  // In the order of the whole, in which its layers run.
  const auto copy_other_weights = [&](ValueId begin, ValueId end) {
    for (ValueId id = begin; id < end; ++id) {
      if (!has_weights(from[id]) || !other_weights) continue;
      cutter.copied(id);
      if (from[id].gradient) cutter.copied(*from[id].gradient);
    }
  };
  const auto first_inside = std::ranges::find_if(from.ops, is_inside);
  const ValueId first = first_inside == from.ops.end() ? 0 : first_inside->output;
  copy_other_weights(0, first);
  for (size_t i = 0; i < whole.forward_ops; ++i) {
    if (is_inside(from.ops[i])) cutter.copy_op(i);
  }
  const auto is_output = [&](const std::string& path) {
    return path == place || path == place + ".output";
  };
  const auto found = std::ranges::find_if(from.values, [&](const TapeValue& value) {
    return std::ranges::any_of(value.paths, is_output);
  });
  if (found == from.values.end() || !found->gradient) {
    fail(absl::StrCat("part_of: there is no gradient of the output of ", place));
  }
  const ValueId y = found - from.values.begin();
  part.loss = add_loss(part.tape, cutter.copied(y), cutter.copied(*found->gradient));
  part.forward_ops = part.tape.ops.size();
  for (size_t i = whole.forward_ops; i < from.ops.size(); ++i) {
    const TapeOp& op = from.ops[i];
    const bool belongs_inside = op.backward_of ? cutter.has_op(*op.backward_of) : is_inside(op);
    if (belongs_inside) cutter.copy_op(i);
  }
  for (ValueId id = 0; id < std::ssize(from.values); ++id) {
    const bool is_input = !from[id].computed && from[id].tensor.dtype() == DType::i64;
    if (is_input) cutter.copied(id);  // whose tokens have names
  }
  copy_other_weights(first, std::ssize(from.values));
  cutter.link_gradients();
  return part;
}

namespace {

// The kept fields of the op, in words.
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

namespace {

constexpr int64_t kShort = 8;  // tokens: so few are recorded as they are

Array first_columns(const Array& rows, int64_t count) {
  return slice(Tensor(rows), 1, 0, std::min(count, rows.shape()[1])).array();
}

Batch shortened(const Batch& batch, int64_t length) {
  Batch result = batch;
  for (Array& input : result.inputs) input = first_columns(input, length);
  if (batch.targets.shape().rank() == 2) result.targets = first_columns(batch.targets, length);
  return result;
}

double bytes_of(const Tape& tape) {
  auto bytes = static_cast<double>(kBytesOfEntry * std::ssize(tape.ops));
  for (const TapeValue& value : tape.values) {
    bytes += static_cast<double>(kBytesOfEntry) + static_cast<double>(value.tensor.array().bytes());
  }
  return bytes;
}

}  // namespace

int64_t longest_input(const Batch& batch) {
  int64_t longest = 0;
  for (const Array& input : batch.inputs) {
    if (input.shape().rank() == 2) longest = std::max(longest, input.shape()[1]);
  }
  return longest;
}

double expected_bytes(const ModelOptions& options, const DataShape& data, const Batch& batch,
                      DataForm form) {
  const int64_t length = longest_input(batch);
  const auto with_layers = [&](int64_t layers) {
    ModelOptions small = options;
    small.num_layers = layers;
    const Model model(small, data, Initializer(RandomStream(0), DType::f64));
    const auto at = [&](int64_t n) {
      return bytes_of(record(model, n < length ? shortened(batch, n) : batch, form).tape);
    };
    if (length <= kShort) return at(length);
    // Newton's interpolation at n, n - 1 and n - 2.
    const double last = at(kShort), before = at(kShort - 1), first = at(kShort - 2);
    const double slope = last - before, bend = last - 2 * before + first;
    const auto more = static_cast<double>(length - kShort);
    return last + more * slope + more * (more + 1) / 2 * bend;
  };
  const double one = with_layers(1);
  if (options.num_layers == 1) return one;
  return one + static_cast<double>(options.num_layers - 1) * (with_layers(2) - one);
}

absl::Status check_memory(const ModelOptions& options, const DataShape& data, const Batch& batch,
                          DataForm form, bool as_text) {
  const double bytes = expected_bytes(options, data, batch, form);
  const auto needed = static_cast<uint64_t>(as_text ? 3 * bytes : bytes);
  const uint64_t available = available_memory();
  if (needed <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "all numbers of this model with ", options.num_layers,
      options.num_layers == 1 ? " layer" : " layers", " and ", longest_input(batch),
      " tokens take about ", describe_bytes(needed), " of memory, and ", describe_bytes(available),
      " are available; fewer layers or a shorter --prompt need less"));
}

}  // namespace qkv
