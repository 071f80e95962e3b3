#include "apps/runs/replay/step_recording.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/graph/modes.h"
#include "framework/graph/recorder.h"
#include "framework/ops/ops.h"
#include "framework/optim/optimizer.h"
#include "train/evaluate/evaluate.h"
#include "train/watch/finite.h"

namespace qkv {
namespace {

// Puts what a Recorder saw into one list, and knows every array by its memory, which nobody uses
// again as long as the recording holds it.
class EntryList {
 public:
  EntryList(const Trainer& trainer, const Batch& batch) {
    for (const auto& all : {trainer.trained_parameters(), parameters(trainer.evaluated_model())}) {
      for (const NamedParameter& p : all) {
        known_[p.tensor.array().raw()] = {.name = p.name, .is_parameter = true};
      }
    }
    for (const Array& input : batch.inputs) {
      known_[input.raw()] = {.name = "the examples"};
    }
  }

  void add(StepEntry entry) {
    StepOperand made = {.name = absl::StrCat("the result of ", entry.describe())};
    made.is_masked = entry.masks();
    known_.try_emplace(entry.output.array().raw(), made);
    entries.push_back(std::move(entry));
  }

  StepOperand operand(const Tensor& tensor, const std::string& otherwise) const {
    const auto found = known_.find(tensor.array().raw());
    StepOperand operand = found == known_.end() ? StepOperand{.name = otherwise} : found->second;
    operand.tensor = tensor.detached();
    return operand;
  }

  bool is_known(const Tensor& tensor) const { return known_.contains(tensor.array().raw()); }
  void know(const Tensor& tensor, const std::string& name) {
    known_.try_emplace(tensor.array().raw(), StepOperand{.name = name});
  }

  std::vector<StepEntry> entries;

 private:
  std::map<const void*, StepOperand> known_;
};

StepEntry entry_of(const RecordedOp& recorded, StepPart part, const EntryList& list) {
  StepEntry entry = {.op = std::string(recorded.op->name()),
                     .path = recorded.scope,
                     .part = recorded.in_backward ? StepPart::kBackward : part,
                     .output = recorded.y.detached()};
  if (recorded.backward_of) entry.within = std::string(recorded.backward_of->name());
  for (size_t i = 0; i < recorded.x.size(); ++i) {
    entry.operands.push_back(list.operand(recorded.x[i], absl::StrCat("input ", i)));
  }
  entry.again = [recorded](const std::vector<Tensor>& x) { return replay(recorded, x); };
  return entry;
}

// The gradient of input `i`, from the inputs and then the gradient of the output.
StepEntry entry_of(const RecordedBackward& walked, size_t i, const RecordedOp& forward,
                   const EntryList& list) {
  StepEntry entry = {.op = std::string(walked.of->name()),
                     .within = std::string(walked.of->name()),
                     .path = walked.scope,
                     .part = StepPart::kBackward,
                     .output = walked.dx[i].detached()};
  for (size_t k = 0; k < forward.x.size(); ++k) {
    entry.operands.push_back(list.operand(forward.x[k], absl::StrCat("input ", k)));
  }
  entry.operands.push_back(list.operand(walked.dy, "the gradient of its result"));
  entry.again = [forward, i](const std::vector<Tensor>& operands) {
    std::vector<Tensor> x(operands.begin(), operands.end() - 1);
    for (Tensor& each : x) {
      if (!each.requires_grad() && is_floating(each.dtype())) each = parameter(each.array());
    }
    const Tensor y = replay(forward, x);
    return backward(y, {.cotangent = operands.back(), .create_graph = true})[x[i]];
  };
  return entry;
}

void add_all(const std::vector<RecordedOp>& ops, const std::vector<RecordedBackward>& walk,
             StepPart part, EntryList& list) {
  std::unordered_map<const Op*, const RecordedOp*> forwards;
  for (const RecordedOp& each : ops) forwards.emplace(each.op.get(), &each);
  auto next = walk.begin();
  const auto add_gradients_before = [&](size_t count) {
    for (; next != walk.end() && next->ops_before <= count; ++next) {
      list.know(next->dy, "the gradient of the loss by itself");
      const auto forward = forwards.find(next->of);
      for (size_t i = 0; i < next->dx.size() && forward != forwards.end(); ++i) {
        if (!next->dx[i].defined() || list.is_known(next->dx[i])) continue;  // an op has made it
        list.add(entry_of(*next, i, *forward->second, list));
      }
    }
  };
  for (size_t i = 0; i < ops.size(); ++i) {
    add_gradients_before(i);
    list.add(entry_of(ops[i], part, list));
  }
  add_gradients_before(ops.size());
}

// The sum of squares over all gradients: the one number of a step that no op makes.
StepEntry norm_entry(const Trainer& trainer, const std::vector<Tensor>& gradients, double norm) {
  StepEntry entry = {
      .op = "gradient norm", .part = StepPart::kNorm, .output = full({}, norm, DType::f64)};
  for (size_t i = 0; i < gradients.size(); ++i) {
    entry.operands.push_back(
        {.name = absl::StrCat("the gradient of ", trainer.trained_parameters()[i].name),
         .tensor = gradients[i].detached()});
  }
  return entry;
}

// The optimizer's state of parameter `i`: itself, then its moments or its velocity.
std::vector<NamedState> state_of(const Trainer& trainer, size_t i) {
  const auto& [name, tensor] = trainer.trained_parameters()[i];
  std::vector<NamedState> all = {{name, tensor.array()}};
  for (const NamedState& state : trainer.optimizer().state()) {
    const bool is_its = state.name.ends_with(absl::StrCat(".", name)) &&
                        state.name.find('.') + 1 + name.size() == state.name.size();
    if (is_its && !state.name.starts_with("weight.")) all.push_back(state);
  }
  return all;
}

// The update of one parameter in f64, from the numbers that it began with.
std::vector<Tensor> updated_in_f64(const Config& config, int64_t steps_before,
                                   const std::vector<StepOperand>& before, double rate,
                                   double scale) {
  const auto wide = [](const Tensor& x) { return cast(x, DType::f64).array().copy(); };
  const Tensor weight = parameter(wide(before[0].tensor));
  const auto optimizer = make_optimizer(config.optimizer, {{"w", weight}});
  const std::vector<NamedState> states = optimizer->state();
  for (size_t k = 0; k < states.size(); ++k) {
    const std::vector<double> numbers = before[k + 2].tensor.to_vector();
    Array array = states[k].array;
    std::copy(numbers.begin(), numbers.end(), array.mutable_data<double>());
  }
  optimizer->set_steps(steps_before);
  optimizer->step(std::vector{Tensor(wide(before[1].tensor))}, rate, scale);
  std::vector<Tensor> after = {weight.detached()};
  for (const NamedState& state : states) after.emplace_back(state.array);
  return after;
}

void record_update(Trainer& trainer, const Config& config, const BatchGradients& step, double norm,
                   StepRecording& recording) {
  const auto& all = trainer.trained_parameters();
  const int64_t steps_before = trainer.steps_made();
  const double rate = recording.learning_rate;
  const double scale = clip_scale(norm, config.optimizer.grad_clip);
  std::vector<std::vector<StepOperand>> before(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<NamedState> states = state_of(trainer, i);
    before[i].push_back({.name = all[i].name,
                         .tensor = Tensor(all[i].tensor.array().copy()),
                         .is_parameter = true});
    before[i].push_back({.name = "its gradient", .tensor = step.gradients[i].detached()});
    for (size_t k = 1; k < states.size(); ++k) {
      before[i].push_back({.name = states[k].name, .tensor = Tensor(states[k].array.copy())});
    }
  }
  trainer.optimizer().step(step.gradients, rate, scale);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<NamedState> after = state_of(trainer, i);
    for (size_t k = 1; k <= after.size(); ++k) {  // the moments before the weight, which reads them
      const size_t which = k % after.size();
      StepEntry entry = {.op = std::string(name_of(config.optimizer.kind)),
                         .path = after[which].name,
                         .part = StepPart::kUpdate,
                         .operands = before[i],
                         .output = Tensor(after[which].array.copy())};
      entry.exact = [=, operands = before[i]] {
        return updated_in_f64(config, steps_before, operands, rate, scale)[which];
      };
      recording.entries.push_back(std::move(entry));
    }
  }
}

}  // namespace

std::string StepEntry::describe() const {
  if (part == StepPart::kNorm) return "the norm of the gradient";
  if (part == StepPart::kUpdate) return absl::StrCat(op, " (update of ", path, ")");
  std::string where = name_of(part);
  if (part == StepPart::kBackward && within.empty()) where += ", where gradients are added up";
  if (part == StepPart::kBackward && !within.empty() && within != op) where += " of " + within;
  if (!path.empty()) where += ", in " + path;
  return absl::StrCat(op, " (", where, ")");
}

size_t StepRecording::first_bad() const {
  const auto found = std::ranges::find_if(entries, [](const StepEntry& entry) {
    return has_bad_number(entry.op, entry.output.array());
  });
  return static_cast<size_t>(found - entries.begin());
}

StepRecording record_evaluation(const Trainer& trainer, const Config& config,
                                const Dataset& dataset) {
  const NoGrad no_grad;
  StepRecording recording;
  const int64_t size = config.train.validation_batch_size();
  for (int64_t first = 0; first < dataset.validation_size(); first += size) {
    const Batch batch =
        dataset.validation_batch(first, std::min(size, dataset.validation_size() - first));
    std::vector<RecordedOp> ops;
    {
      const Recorder recorder(ops);
      ForwardContext context;
      recording.validation_loss =
          batch_loss(trainer.evaluated_model(), batch, {.divisor = 1.0}, context).loss.item();
    }
    if (std::isfinite(recording.validation_loss)) continue;
    EntryList list(trainer, batch);
    add_all(ops, {}, StepPart::kEvaluation, list);
    recording.entries = std::move(list.entries);
    break;
  }
  return recording;
}

StepRecording record_step(Trainer& trainer, const Config& config, const Dataset& dataset,
                          bool evaluate) {
  const Batch batch = trainer.next_batch();
  std::vector<RecordedOp> ops;
  std::vector<RecordedBackward> walk;
  BatchGradients step;
  {
    const Recorder recorder(ops, &walk);
    step = trainer.differentiate(batch);
  }
  StepRecording recording;
  recording.loss = step.loss;
  recording.grad_norm = global_norm(step.gradients);
  recording.learning_rate =
      scheduled_learning_rate(config.optimizer, trainer.steps_made(), config.train.steps);
  EntryList list(trainer, batch);
  add_all(ops, walk, StepPart::kForward, list);
  recording.entries = std::move(list.entries);
  recording.entries.push_back(norm_entry(trainer, step.gradients, recording.grad_norm));
  if (!std::isfinite(step.loss) || !std::isfinite(recording.grad_norm)) return recording;
  // Readers of a weight share its memory, which the update changes.
  std::vector<Array> weights;
  for (const NamedParameter& p : trainer.trained_parameters()) {
    weights.push_back(p.tensor.array().copy());
  }
  record_update(trainer, config, step, recording.grad_norm, recording);
  if (evaluate && trainer.first_not_finite().empty()) {
    StepRecording after = record_evaluation(trainer, config, dataset);
    recording.validation_loss = after.validation_loss;
    if (!after.entries.empty()) {  // all before it is finite
      recording.entries = std::move(after.entries);
      return recording;
    }
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    Array weight = trainer.trained_parameters()[i].tensor.array();
    if (weight.bytes() > 0) std::memcpy(weight.mutable_raw(), weights[i].raw(), weight.bytes());
  }
  return recording;
}

}  // namespace qkv
