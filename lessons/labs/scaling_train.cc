// What dividing the scores by the root of d_k does to a training.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"
#include "train/run/batch_loss.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

constexpr int64_t kWidth = 64;  // of the model, and of its one head
constexpr const char* kConfig = R"(
name = "scaling-train"
[data]
task = "reverse"
length = 8
validation_examples = 200
[model]
num_layers = 1
d_model = 64
num_heads = 1
d_ff = 128
[optimizer]
learning_rate = 1e-3
betas = [0.9, 0.99]
schedule = "constant"
[train]
batch_size = 64
)";

// Maps begin with deviation 0.02, so that q and k of a normalized x have variance C 0.02². With
// this factor the scores are those of queries and keys of variance 1, as the notes have them.
constexpr double kToVarianceOne = 1 / (kWidth * 0.02 * 0.02);

// How steep attention is after some steps, over the seeds.
struct Moment {
  int64_t steps = 0;
  std::vector<double> largest = {};    // weight of a row, the mean over the rows
  std::vector<double> entropy = {};    // of a row, over that of even weights
  std::vector<double> passed_on = {};  // |dS| / |dP|, of all rows together
};

struct Form {
  std::string name;
  double scale;                      // of the scores
  std::vector<Moment> moments = {};  // at the start, halfway, at the end
  std::vector<double> losses = {};   // of what it has not seen
  std::vector<double> jumps = {};    // deviation of log(|g_t| / |g_t-1|)
  std::vector<double> curve = {};    // |g| of each step, first seed
};

// How much the norm of the gradient changes from a step to the next.
double jumps_of(const std::vector<double>& norms) {
  std::vector<double> changes;
  for (size_t i = 1; i < norms.size(); ++i) changes.push_back(std::log(norms[i] / norms[i - 1]));
  return deviation_of(changes);
}

void measure(const Model& model, const Dataset& data, Moment& moment) {
  constexpr int64_t kRows = 64;
  Trace trace;
  ForwardContext context;
  context.trace = &trace;
  const Tensor loss = batch_loss(model, data.validation_batch(0, kRows), {}, context).loss;
  const Tensor scores = trace["blocks.0.attention.masked_scores"];
  const Tensor weights = trace["blocks.0.attention.weights"];  // [B, 1, T, T]; causal
  const Gradients gradients = backward(loss, {.keep = {scores, weights}});
  constexpr double kTiny = 1e-30;  // 0 log 0 is 0
  const double entropy = -mean(sum(weights * log(weights + kTiny), -1)).item();
  double even = 0;  // row t has t keys
  const int64_t length = weights.dim(3);
  for (int64_t t = 1; t <= length; ++t) even += std::log(static_cast<double>(t));
  moment.largest.push_back(mean(max(weights, -1)).item());
  moment.entropy.push_back(entropy * static_cast<double>(length) / even);
  moment.passed_on.push_back(size_of(gradients[scores]) / size_of(gradients[weights]));
}

// With a constant learning rate half of a training is a training of half as many steps.
void train(const LabContext& lab, Form& form) {
  const int64_t steps = lab.integer("steps");
  form.moments = {{.steps = 0}, {.steps = std::max<int64_t>(1, steps / 2)}, {.steps = steps}};
  for (const uint64_t seed : lab.seeds()) {
    const auto config_of = [&](int64_t count) {
      return lab_config(kConfig, {absl::StrCat("seed=", seed), absl::StrCat("train.steps=", count),
                                  absl::StrCat("attention.scale=", form.scale)});
    };
    for (Moment& moment : form.moments) {
      if (moment.steps == 0) continue;
      const Trained trained = train_or_reuse(lab, config_of(moment.steps));
      measure(trained.model, *trained.data, moment);
      if (moment.steps < steps) continue;
      const Model fresh = make_model(trained.config, trained.data->shape());
      measure(fresh, *trained.data, form.moments.front());
      form.losses.push_back(trained.validation.loss);
      form.jumps.push_back(jumps_of(trained.grad_norms));
      if (form.curve.empty()) form.curve = trained.grad_norms;
    }
  }
}

LineChart gradient_chart(const std::vector<Form>& forms) {
  LineChart chart = {.title = "Norm of the gradient, first seed",
                     .x_label = "step",
                     .y_label = "|g|",
                     .log_y = true};
  for (const Form& form : forms) {
    chart.series.push_back(numbered_series(form.name, form.curve));
  }
  return chart;
}

Table table_of(const char* title, const std::vector<Form>& forms,
               std::vector<double> Moment::*samples) {
  Table table = {.title = title, .header = {"after steps"}, .rows = {}};
  for (const Moment& moment : forms.front().moments) {
    table.header.push_back(absl::StrCat(moment.steps));
  }
  for (const Form& form : forms) {
    std::vector<std::string> row = {form.name};
    for (const Moment& moment : form.moments) row.push_back(format_samples(moment.*samples));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table loss_table(const std::vector<Form>& forms) {
  Table table = {.title = "At the end", .header = {"", "loss, unseen", "jumps of |g|"}, .rows = {}};
  for (const Form& form : forms) {
    table.rows.push_back({form.name, format_samples(form.losses), format_samples(form.jumps)});
  }
  return table;
}

// Of how much |g| jumps: what not dividing does to it is a factor.
std::vector<double> logs_of_jumps(const Form& form) {
  std::vector<double> logs;
  for (const double jumps : form.jumps) logs.push_back(std::log10(jumps));
  return logs;
}

// That factor, the geometric mean over the seeds.
Finding jumps_more(const char* start, const Form& plain, const Form& divided) {
  const double factor =
      std::pow(10, mean_of(logs_of_jumps(plain)) - mean_of(logs_of_jumps(divided)));
  return found(absl::StrCat("how much |g| jumps, ", start, ", not divided over divided"), "above 2",
               format_number(factor), factor > 2);
}

std::vector<Section> run(const LabContext& lab) {
  const double divisor = lab.is_control() ? 1 : std::sqrt(static_cast<double>(kWidth));
  std::vector<Form> forms = {{"variance 1, divided", kToVarianceOne / divisor},
                             {"variance 1, not divided", kToVarianceOne},
                             {"small start, divided", 1 / divisor},
                             {"small start, not divided", 1}};
  for (Form& form : forms) train(lab, form);
  const Form &divided = forms[0], &plain = forms[1];
  Section section = {
      .claims = {{"A38", "从而使得训练过程中梯度保持稳定。",
                  "So that gradients stay stable while the model is trained."}},
      .formula = "S = Q Kᵀ / √d_k against S = Q Kᵀ",
      .prediction =
          "Of the sentence, what is decided here is the training: divided, softmax stays less "
          "steep in it, and the norm of the gradient changes less from a step to the next. "
          "Of the loss the note says nothing: it is in the table.",
      .findings = {larger("log10 of how much |g| jumps, variance 1, not divided and divided",
                          logs_of_jumps(plain), logs_of_jumps(divided)),
                   jumps_more("variance 1", plain, divided),
                   beyond(jumps_more("small start", forms[3], forms[2]))},
      .figures = {table_of("Largest weight of a row", forms, &Moment::largest),
                  table_of("Entropy of a row, over that of even weights", forms, &Moment::entropy),
                  table_of("|dS| / |dP|", forms, &Moment::passed_on), loss_table(forms),
                  gradient_chart(forms)},
      .condition = "queries and keys begin with variance 1",
      .correction =
          "Where maps begin small, as they do today (0.02), scores are small as well, softmax is "
          "not saturated, gradients are as stable if nothing divides, and the first steps go "
          "faster."};
  for (size_t i = 0; i < plain.moments.size(); ++i) {
    const int64_t steps = plain.moments[i].steps;
    section.findings.push_back(
        larger(absl::StrCat("entropy after ", steps, " steps, variance 1, divided and not"),
               divided.moments[i].entropy, plain.moments[i].entropy));
    section.findings.push_back(
        larger(absl::StrCat("largest weight after ", steps, " steps, variance 1, not and divided"),
               plain.moments[i].largest, divided.moments[i].largest));
  }
  return {section};
}

}  // namespace

Lab scaling_train_lab() {
  return {.name = "scaling-train",
          .question = "Does a training need the scores to be divided by the root of d_k?",
          .control = "no model divides",
          .duration = "12 s",
          .options = {{"steps", "100", "of training", 3, 100000},
                      seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
