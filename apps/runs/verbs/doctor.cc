#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_format.h"
#include "apps/report/facts.h"
#include "cli/kit.h"
#include "framework/autograd/backward.h"
#include "framework/core/clock.h"
#include "framework/core/each_of.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/text/columns.h"
#include "framework/kernels/parallel.h"
#include "framework/optim/optimizer.h"
#include "train/config/config.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"
#include "train/folder/reading_progress.h"
#include "train/loop/step_forecast.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

// A check before a long run: whether the memory suffices, the loss at the start is that of
// guessing, every parameter gets a gradient, a causal model sees nothing that comes later, and a
// few examples can be learned by heart.
struct Diagnosis {
  std::string check;  // "loss at the start"
  bool is_good = true;
  std::string finding;  // a sentence with the numbers
};

constexpr int64_t kFewExamples = 4;

// A model and a few examples of its training data.
struct Patient {
  const Config& config;
  const Dataset& dataset;
  Model model;
  Batch batch;

  Patient(const Config& configured, const Dataset& data)
      : config(configured),
        dataset(data),
        model(make_model(configured, data.shape())),
        batch(data.training_batch(0, std::min(configured.train.batch_size, kFewExamples))) {}

  BatchLoss run(const Batch& examples) const {
    ForwardContext context;
    return batch_loss(model, examples, {}, context);
  }
};

Diagnosis examine_memory(const StepForecast& forecast, uint64_t available) {
  const absl::Status fits = check_memory(forecast, available);
  return {"memory", fits.ok(),
          fits.ok() ? absl::StrCat("training needs ", describe(forecast), "; ",
                                   describe_bytes(available), " are free")
                    : std::string(fits.message())};
}

Diagnosis examine_time(const Patient& patient) {
  constexpr int kSteps = 3;
  Trainer trainer(patient.config, patient.dataset);
  trainer.step().IgnoreError();  // the first allocates for the others
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < kSteps; ++i) trainer.step().IgnoreError();
  const double step = seconds_since(start) / kSteps;
  return {
      "time", true,
      absl::StrFormat("a step takes %.3g ms; train.steps = %d takes about %s, without evaluations",
                      1e3 * step, patient.config.train.steps,
                      format_duration(step * static_cast<double>(patient.config.train.steps)))};
}

// Before it has learned, a model can only guess: -ln(1 / V).
Diagnosis examine_start(const Patient& patient) {
  const BatchLoss first = patient.run(patient.batch);
  const double guessing = std::log(static_cast<double>(first.logits.dim(-1)));
  const double loss = first.loss.item();
  // One nat more: the right answer has less than a third of the probability that guessing gives it.
  const bool is_good = std::isfinite(loss) && loss <= guessing + 1;
  std::string finding = absl::StrFormat("%.4f, and guessing among %d costs %.4f", loss,
                                        first.logits.dim(-1), guessing);
  if (!is_good)
    finding += ": the model is sure before it has learned; a smaller model.init_std helps";
  return {"loss at the start", is_good, finding};
}

bool is_all_zero(const Tensor& gradient) {
  const Array numbers = cast(gradient, DType::f64).array();
  const auto* begin = numbers.data<double>();
  return std::all_of(begin, begin + numbers.size(), [](double x) { return x == 0; });
}

// A row of a table, for a token or a place that is not in the examples, has none; a whole parameter
// must have one.
Diagnosis examine_gradients(const Patient& patient) {
  const Gradients gradients = backward(patient.run(patient.batch).loss);
  std::vector<std::string> without;
  const std::vector<NamedParameter> all = parameters(patient.model);
  for (const NamedParameter& parameter : all) {
    if (is_all_zero(gradients[parameter.tensor])) without.push_back(parameter.name);
  }
  if (without.empty()) {
    return {"gradients", true,
            absl::StrCat("each of the ", all.size(), " parameters gets a gradient")};
  }
  return {"gradients", false,
          absl::StrCat(without.size(), " of ", all.size(), " parameters get none: ",
                       listed(without, ", ", 3), "; the layers before them cannot learn")};
}

// The answers of a decoder do not change, to the bit, where the last token does.
std::optional<Diagnosis> examine_causality(const Patient& patient) {
  const DataForm form = patient.dataset.form();
  if (form == DataForm::kClass) return std::nullopt;
  // Where there are a source and a target, the text so far is the target.
  const size_t written = form == DataForm::kSourceTarget ? 1 : 0;
  Batch changed = patient.batch;
  const Array& before = patient.batch.inputs[written];
  std::vector<int64_t> tokens(before.data<int64_t>(), before.data<int64_t>() + before.size());
  const int64_t length = before.shape()[1], vocabulary = patient.dataset.vocabulary().size();
  if (length < 2 || vocabulary < 2) return std::nullopt;
  for (int64_t row = 0; row < before.shape()[0]; ++row) {
    int64_t& last = tokens[row * length + length - 1];
    last = (last + 1) % vocabulary;
  }
  changed.inputs[written] = Array::of(before.shape(), tokens);
  const auto earlier = [&](const Batch& batch) {
    return slice(patient.run(batch).logits, 1, 0, length - 1).array();
  };
  const Array first = earlier(patient.batch), second = earlier(changed);
  const bool is_causal = std::memcmp(first.raw(), second.raw(), first.bytes()) == 0;
  return Diagnosis{"causality", is_causal,
                   is_causal ? "a later token changes no earlier logit, to the bit"
                             : "a later token changes earlier logits: the model reads its answer "
                               "before it gives it (attention.causal)"};
}

struct ByHeart {
  double first = 0, last = 0;
  int64_t steps = 0;
  bool is_out_of_time = false;  // before it had made all steps

  bool is_learned() const { return last < first / 10; }
  bool falls() const { return last < 0.9 * first; }
};

// The same few examples again and again, at a rate that stays.
ByHeart learn_by_heart(const Patient& patient, double rate, double seconds) {
  constexpr int64_t kSteps = 400;
  Model model = make_model(patient.config, patient.dataset.shape());
  const std::vector<NamedParameter> all = parameters(model);
  const auto optimizer = make_optimizer(patient.config.optimizer, all);
  ByHeart result;
  const Clock::time_point start = Clock::now();
  const double warmup = static_cast<double>(
      std::min<int64_t>(patient.config.optimizer.warmup_steps, kSteps / 10) + 1);
  while (result.steps < kSteps) {
    result.is_out_of_time = seconds_since(start) >= seconds;
    if (result.is_out_of_time) break;
    ForwardContext context;
    const BatchGradients step = accumulate_gradients(model, all, patient.batch, 1, 0, context);
    const double norm = global_norm(step.gradients);
    if (result.steps == 0) result.first = step.loss;
    result.last = step.loss;
    if (!std::isfinite(step.loss) || !std::isfinite(norm) || result.is_learned()) break;
    const double share = std::min(1.0, static_cast<double>(result.steps + 1) / warmup);
    optimizer->step(step.gradients, rate * share,
                    clip_scale(norm, patient.config.optimizer.grad_clip));
    ++result.steps;
  }
  return result;
}

Diagnosis examine_learning(const Patient& patient) {
  constexpr double kSeconds = 8, kSecondsOfOthers = 1;
  const double rate = patient.config.optimizer.learning_rate;
  const ByHeart result = learn_by_heart(patient, rate, kSeconds);
  const std::string last =
      std::isfinite(result.last) ? absl::StrFormat("%.4f", result.last) : "a number not finite";
  const std::string finding =
      absl::StrFormat("the loss of %d examples goes from %.4f to %s in %d %s", patient.batch.rows(),
                      result.first, last, result.steps, result.steps == 1 ? "step" : "steps");
  if (result.is_learned()) return {"learning by heart", true, finding};
  // On a slow machine, or a busy one, a large model is not judged by steps that it had no time for.
  if (result.is_out_of_time && result.falls()) {
    return {"learning by heart", true, finding + ", and falls; for more there was no time"};
  }
  std::vector<double> others = {1e-2, 1e-3, 1e-4};  // the usual rates
  for (const double factor : {0.1, 0.01, 10.0, 100.0}) others.push_back(rate * factor);
  for (const double other : others) {
    if (other == rate || !learn_by_heart(patient, other, kSecondsOfOthers).is_learned()) continue;
    return {"learning by heart", false,
            absl::StrFormat("%s; at the rate %g it learns them: optimizer.learning_rate is too %s",
                            finding, other, other < rate ? "high" : "low")};
  }
  return {"learning by heart", false,
          absl::StrFormat(
              "%s; it does not learn them in a second at %d other rates either, from %g to %g",
              finding, others.size(), std::ranges::min(others), std::ranges::max(others))};
}

// `tell` reports progress. It trains models of its own, and writes no file.
absl::StatusOr<std::vector<Diagnosis>> examine(const Config& config, const TellProgress& tell) {
  kernels::set_num_threads(static_cast<int>(config.train.threads));
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset, make_dataset(config));
  const uint64_t available = available_memory();
  const StepForecast forecast = foresee_step(config, *dataset, available);
  std::vector<Diagnosis> diagnoses = {examine_memory(forecast, available)};
  for (const std::string& note : dataset->notes()) diagnoses.push_back({"data", true, note});
  if (!diagnoses[0].is_good) return diagnoses;  // all else would need that memory
  const Patient patient(config, *dataset);
  tell("the time of a step");
  diagnoses.push_back(examine_time(patient));
  tell("the loss at the start");
  diagnoses.push_back(examine_start(patient));
  tell("the gradients");
  diagnoses.push_back(examine_gradients(patient));
  if (std::optional<Diagnosis> causality = examine_causality(patient)) {
    diagnoses.push_back(*std::move(causality));
  }
  tell("learning a few examples by heart");
  diagnoses.push_back(examine_learning(patient));
  return diagnoses;
}

std::string diagnoses_text(const std::vector<Diagnosis>& diagnoses) {
  std::string text;
  for (const Diagnosis& each : diagnoses) {
    const std::string head = padded(absl::StrCat(each.is_good ? "✓ " : "✗ ", each.check), 22);
    std::string lines = wrapped(each.finding, text_columns(), std::string(22, ' '));
    text += lines.replace(0, 22, head);
  }
  return text;
}

void add_doctor_options(OptionList& options) {
  options.set();
  options.json("the findings");
}

absl::Status run_doctor(const std::string& config, const GivenOptions& given) {
  RETURN_IF_ERROR(check_json(given, "[\n  {\n    \"check\": "));
  ASSIGN_OR_RETURN(const LoadedConfig loaded, load_config(config, given.set()));
  ProgressLine progress(stderr);
  const absl::StatusOr<std::vector<Diagnosis>> diagnoses = examine(
      loaded.config, [&](const std::string& what) { progress.show("looking at " + what + " …"); });
  progress.clear();
  if (!diagnoses.ok()) return diagnoses.status();
  const auto facts = [](const Diagnosis& each) {
    return Facts{
        {"check", "", each.check}, {"good", "", each.is_good}, {"finding", "", each.finding}};
  };
  RETURN_IF_ERROR(show_or_write(given, diagnoses_text(*diagnoses),
                                json_text(json_of(each_of(*diagnoses, facts)))));
  if (std::ranges::all_of(*diagnoses, &Diagnosis::is_good)) return absl::OkStatus();
  return absl::InternalError("the config is not sound: see the lines marked ✗");
}

}  // namespace

Verb doctor_verb() {
  return {{"doctor", "CONFIG", "looks a config over before a long run"},
          add_doctor_options,
          run_doctor};
}

}  // namespace qkv
