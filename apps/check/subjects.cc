#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/check/precision/precision_check.h"
#include "apps/check/run_gradcheck.h"
#include "apps/check/training_step.h"
#include "data/dataset.h"
#include "framework/core/each_of.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/random.h"
#include "framework/core/status.h"
#include "framework/core/text/utf8.h"
#include "framework/nn/layer_examples.h"
#include "framework/nn/with_parameters.h"
#include "models/model_examples.h"
#include "train/config/config.h"
#include "train/config/suggest.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"
#include "train/loop/step_forecast.h"

namespace qkv {
namespace {

constexpr int64_t kExamplesOfConfig = 2;  // each costs a forward pass for every difference

struct Member {
  std::string kind;
  OpExamples examples;

  const std::string& name() const { return examples.op; }
};

DType dtype_of_inputs(Precision precision) {
  return precision == Precision::kF64 ? DType::f64 : DType::f32;
}

std::vector<Member> all_members(Precision precision = Precision::kF64) {
  const Initializer init(RandomStream(1), dtype_of_inputs(precision),
                         /*bf16_products=*/precision == Precision::kBf16);
  std::vector<Member> all;
  const auto add = [&all](const char* kind, const std::vector<OpExamples>& members) {
    for (const OpExamples& examples : members) all.push_back({kind, examples});
  };
  add("op", op_examples());
  add("layer", layer_examples(init));
  add("model", model_examples(init));
  add("step", step_examples());
  return all;
}

std::vector<Tensor> inputs_of(const OpExample& example, bool is_op, Precision precision,
                              uint64_t seed) {
  if (precision == Precision::kBf16 && is_op) {
    if (auto inputs = inputs_in(DType::bf16, example, seed)) return *std::move(inputs);
  }
  return make_inputs(example, dtype_of_inputs(precision), RandomStream(seed));
}

absl::Status no_such_name(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  return invalid_argument("--op: there is no op, layer, model or step \"", name, "\"; ",
                          near.empty() ? absl::StrCat("there are ", quoted_list(known, "and"))
                                       : absl::StrCat("did you mean \"", near, "\"?"));
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

absl::Status check_names(const std::vector<std::string>& names,
                         const std::vector<Member>& members) {
  const std::vector<std::string> known = each_of(members, &Member::name);
  for (const std::string& name : names) {
    if (!holds(known, name)) return no_such_name(name, known);
  }
  return absl::OkStatus();
}

// The check computes in f128, by the composed formulas, and keeps their intermediate results: by
// measurement 11 to 13 times the memory of a step for each parameter, and 40 to 75 times that for a
// batch. A refused one would not fit.
absl::Status check_fits(Config config, const Dataset& dataset) {
  const bool is_precise = config.train.precision == Precision::kF64;
  const uint64_t per_parameter = is_precise ? 8 : 1, per_batch = is_precise ? 30 : 1;
  config.train.batch_size = config.train.eval_batch_size = kExamplesOfConfig;
  config.train.accumulation_steps = config.train.shards = 1;
  const uint64_t available = available_memory();
  const StepForecast step = foresee_step(config, dataset, available);
  const uint64_t needed = per_parameter * step.parameters + per_batch * step.batch;
  if (needed <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "--config: this check needs more than ", describe_bytes(needed), " of memory, but only ",
      describe_bytes(available),
      " are free; a smaller model.d_model, model.d_ff or model.num_layers needs less, and so does "
      "a shorter data.length"));
}

absl::StatusOr<std::vector<GradcheckSubject>> subject_of_config(const SubjectChoice& choice) {
  ASSIGN_OR_RETURN(LoadedConfig loaded, load_config(choice.config, choice.overrides));
  loaded.config.train.precision = choice.precision;
  const Config& c = loaded.config;
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset, make_dataset(c));
  RETURN_IF_ERROR(check_fits(c, *dataset));
  const Model model = make_model(c, dataset->shape());
  const Batch batch = dataset->training_batch(0, kExamplesOfConfig);

  GradcheckSubject subject{
      .kind = "model", .name = c.name, .example = printable(choice.config), .f = nullptr};
  for (const NamedParameter& p : parameters(model)) {
    subject.input_names.push_back(p.name);
    subject.inputs.push_back(p.tensor);
  }
  const double label_smoothing = c.train.label_smoothing;
  subject.f = [model, batch, label_smoothing, seed = c.seed](std::span<const Tensor> tensors) {
    ForwardContext context{.training = true, .random = RandomStream(seed).derive("dropout")};
    return batch_loss(with_parameters(model, tensors), batch, {.label_smoothing = label_smoothing},
                      context)
        .loss;
  };
  return std::vector<GradcheckSubject>{std::move(subject)};
}

}  // namespace

std::vector<std::string> names_of_subjects() { return each_of(all_members(), &Member::name); }

absl::StatusOr<std::vector<OpExamples>> examples_named(const std::vector<std::string>& names) {
  if (names.empty()) return op_examples();
  const std::vector<Member> members = all_members();
  RETURN_IF_ERROR(check_names(names, members));
  std::vector<OpExamples> examples;
  for (const Member& member : members) {
    if (!holds(names, member.name())) continue;
    if (member.kind != "op" && member.kind != "layer") {
      return invalid_argument("--op: ", member.name(), " is a ", member.kind,
                              "; --mutate looks at ops and layers");
    }
    examples.push_back(member.examples);
  }
  return examples;
}

absl::StatusOr<std::vector<GradcheckSubject>> subjects_of(const SubjectChoice& choice,
                                                          uint64_t seed) {
  if (!choice.config.empty()) return subject_of_config(choice);
  const std::vector<Member> members = all_members(choice.precision);
  RETURN_IF_ERROR(check_names(choice.names, members));
  std::vector<GradcheckSubject> subjects;
  for (const Member& member : members) {
    if (!choice.names.empty() && !holds(choice.names, member.name())) continue;
    for (const OpExample& example : member.examples.examples) {
      subjects.push_back(
          {.kind = member.kind,
           .name = member.name(),
           .example = example.name,
           .f = example.f,
           .input_names = example.input_names,
           .inputs = inputs_of(example, member.kind == "op", choice.precision, seed)});
    }
  }
  return subjects;
}

}  // namespace qkv
