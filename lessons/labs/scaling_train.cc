// What dividing the scores by the root of d_k does to a training.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"

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
schedule = "cosine"
[train]
batch_size = 64
)";

// Maps begin with deviation 0.02, so that q and k of a normalized x have variance C 0.02². With
// this factor the scores are those of queries and keys of variance 1, as the notes have them.
constexpr double kToVarianceOne = 1 / (kWidth * 0.02 * 0.02);

struct Form {
  std::string name;
  double scale;                     // of the scores
  std::vector<double> losses = {};  // of what it has not seen
  std::vector<double> jumps = {};   // deviation of log(|g_t| / |g_t-1|)
  std::vector<double> curve = {};   // |g| of each step, first seed
};

// How much the norm of the gradient changes from a step to the next.
double jumps_of(const std::vector<double>& norms) {
  std::vector<double> changes;
  for (size_t i = 1; i < norms.size(); ++i) changes.push_back(std::log(norms[i] / norms[i - 1]));
  return deviation_of(changes);
}

void train(const LabContext& lab, Form& form) {
  for (const uint64_t seed : lab.seeds()) {
    const Trained trained =
        train_or_reuse(lab, lab_config(kConfig, {absl::StrCat("seed=", seed),
                                                 absl::StrCat("train.steps=", lab.integer("steps")),
                                                 absl::StrCat("attention.scale=", form.scale)}));
    form.losses.push_back(trained.validation.loss);
    form.jumps.push_back(jumps_of(trained.grad_norms));
    if (form.curve.empty()) form.curve = trained.grad_norms;
  }
}

LineChart chart_of(const std::vector<Form>& forms) {
  LineChart chart = {.title = "Norm of the gradient, first seed",
                     .x_label = "step",
                     .y_label = "|g|",
                     .log_y = true};
  for (const Form& form : forms) {
    Series series = {.name = form.name, .x = {}, .y = form.curve};
    for (size_t i = 0; i < form.curve.size(); ++i) series.x.push_back(static_cast<double>(i + 1));
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::vector<Section> run(const LabContext& lab) {
  const double divided = lab.is_control() ? 1 : 1 / std::sqrt(static_cast<double>(kWidth));
  std::vector<Form> forms = {{"variance 1, divided", kToVarianceOne * divided},
                             {"variance 1, not divided", kToVarianceOne},
                             {"small start, divided", divided},
                             {"small start, not divided", 1}};
  for (Form& form : forms) train(lab, form);
  return {
      {.claims = {{"A38", "从而使得训练过程中梯度保持稳定。",
                   "So that gradients stay stable while the model is trained."}},
       .formula = "S = Q Kᵀ / √d_k against S = Q Kᵀ",
       .prediction =
           "Divided, the norm of the gradient changes less from a step to the next, and the loss "
           "after the same steps is lower.",
       .findings = {larger("how much |g| jumps, not divided and divided, variance 1",
                           forms[1].jumps, forms[0].jumps),
                    larger("loss, not divided and divided, variance 1", forms[1].losses,
                           forms[0].losses),
                    beyond(larger("loss, not divided and divided, small start", forms[3].losses,
                                  forms[2].losses))},
       .figures = {chart_of(forms)},
       .condition = "queries and keys begin with variance 1",
       .correction =
           "Where maps begin small, as they do today (0.02), scores are small as well, "
           "softmax is not saturated, and the first steps go faster if nothing divides."}};
}

}  // namespace

Lab scaling_train_lab() {
  return {.name = "scaling-train",
          .question = "Does a training need the scores to be divided by the root of d_k?",
          .control = "no model divides",
          .duration = "40 s",
          .options = {{"steps", "100", "of training"}, {"seeds", "5", "trainings of each"}},
          .run = run};
}

}  // namespace qkv
