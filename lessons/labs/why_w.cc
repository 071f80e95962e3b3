// What the maps of queries and keys are for.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

// Each letter is the one before the last: a token has to look at the one before it.
constexpr const char* kConfig = R"(
name = "why-w"
[data]
task = "echo"
alphabet = 8
length = 16
distance = 2
validation_examples = 200
[model]
num_layers = 1
d_model = 32
num_heads = 1
d_ff = 64
[optimizer]
learning_rate = 3e-3
betas = [0.9, 0.99]
schedule = "cosine"
[train]
batch_size = 64
)";

struct Form {
  std::string name, projections;
  std::vector<double> accuracies = {};
  std::vector<double> losses = {};  // of each step, of the first seed
};

std::vector<Section> run(const LabContext& lab) {
  Form maps = {.name = "with W_q and W_k", .projections = lab.is_control() ? "none" : "separate"};
  Form bare = {.name = "softmax(X Xᵀ) X", .projections = "none"};
  for (Form* const form : {&maps, &bare}) {
    for (const uint64_t seed : lab.seeds()) {
      const Trained trained = train_or_reuse(
          lab, lab_config(kConfig, {absl::StrCat("seed=", seed),
                                    absl::StrCat("train.steps=", lab.integer("steps")),
                                    absl::StrCat("attention.projections=", form->projections)}));
      form->accuracies.push_back(trained.validation.token_accuracy);
      if (form->losses.empty()) form->losses = trained.losses;
    }
  }
  Section section = {
      .claims =
          {{"A34", "为什么不直接使用X而要对其进行线性变换呢?",
            "Why not use X itself, and why transform it linearly?"},
           {"A35", "当然是为了提升模型的拟合能力,矩阵W都是可以训练的,起到一个缓冲的作用。",
            "To make the model fit better: the matrices W can be trained, they are a buffer."}},
      .formula = "S = X W_q (X W_k)ᵀ against S = X Xᵀ",
      .prediction =
          "X Xᵀ is symmetric and largest where a token meets itself, so that no row can "
          "prefer the token before; with maps it is one product away.",
      .findings = {larger("share of tokens that are right, with the maps and without",
                          maps.accuracies, bare.accuracies),
                   found("the worst seed with the maps", "at least 0.99",
                         format_number(*std::ranges::min_element(maps.accuracies)),
                         std::ranges::min(maps.accuracies) >= 0.99)}};
  LineChart chart = {.title = "Loss of the training batches, first seed",
                     .x_label = "step",
                     .y_label = "loss",
                     .log_y = true};
  for (const Form& form : {maps, bare}) {
    chart.series.push_back(numbered_series(form.name, form.losses));
  }
  section.figures.push_back(std::move(chart));
  return {section};
}

}  // namespace

Lab why_w_lab() {
  return {.name = "why-w",
          .question = "Why not attend with X itself: what are W_q and W_k for?",
          .control = "both models go without maps",
          .duration = "20 s",
          .options = {steps_option("300"), seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
