// A model that is trained without a mask reads the answer that it is asked for.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"
#include "train/run/generate.h"

namespace qkv {
namespace {

constexpr const char* kConfig = R"(
name = "leak"
[data]
alphabet = 8
length = 8
validation_examples = 100
[model]
num_layers = 2
d_model = 32
num_heads = 2
d_ff = 64
[optimizer]
learning_rate = 5e-3
betas = [0.9, 0.99]
schedule = "cosine"
[train]
batch_size = 64
)";

struct Form {
  std::string name, task;
  bool is_causal;
  std::vector<double> losses = {};     // of what it has not seen, answers in sight
  std::vector<double> generated = {};  // share of answers that it writes right by itself
  std::vector<double> curve = {};      // loss of each step, first seed
  std::string written = {};            // "01234567= 7654…, written 3333…"
};

void generate_answers(const LabContext& lab, const Trained& trained, Form& form) {
  const int64_t count = trained.config.data.validation_examples;
  std::vector<Tokens> prompts, answers;
  for (int64_t i = 0; i < count; ++i) {
    const Example example = trained.data->validation_example(i);
    prompts.push_back(example.prompt);
    answers.push_back(example.answer);
  }
  lab.say(absl::StrCat("leak: ", form.name, " writes"));
  const std::vector<Tokens> written =
      generate_all(trained.model, prompts, std::ssize(answers[0]), {.temperature = 0}).value();
  double right = 0;
  for (size_t i = 0; i < written.size(); ++i) right += written[i] == answers[i] ? 1 : 0;
  form.generated.push_back(right / static_cast<double>(count));
  const Vocabulary& vocabulary = trained.data->vocabulary();
  if (form.written.empty()) {
    form.written = absl::StrCat(vocabulary.decode(prompts[0]), vocabulary.decode(written[0]));
  }
}

void train(const LabContext& lab, Form& form) {
  for (const uint64_t seed : lab.seeds()) {
    const Trained trained = train_or_reuse(
        lab, lab_config(kConfig,
                        {absl::StrCat("data.task=", form.task), absl::StrCat("seed=", seed),
                         absl::StrCat("train.steps=", lab.integer("steps")),
                         absl::StrCat("attention.causal=", form.is_causal ? "true" : "false")}));
    form.losses.push_back(trained.validation.loss);
    if (form.curve.empty()) form.curve = trained.losses;
    generate_answers(lab, trained, form);
  }
}

LineChart chart_of(const std::vector<Form>& forms) {
  LineChart chart = {.title = "Loss of the training batches, first seed",
                     .x_label = "step",
                     .y_label = "loss",
                     .log_y = true};
  for (const Form& form : forms) {
    chart.series.push_back(numbered_series(form.name, form.curve));
  }
  return chart;
}

std::vector<Section> run(const LabContext& lab) {
  const bool is_masked = lab.is_control();
  Form masked = {"with the mask", "sort", true}, open = {"without", "sort", is_masked},
       easy = {"without, digits copied", "copy", is_masked};
  for (Form* form : {&masked, &open, &easy}) train(lab, *form);
  return {
      {.claims = {{"B124", "所以为了适应生成任务的需要，掩码自注意力机制应运而生",
                   "So, to suit the task of generating, attention with a mask came to be."}},
       .formula = "loss = -Σ_t log p(x_t+1 | x_1 … x_t),   without a mask p(x_t+1 | x_1 … x_T)",
       .prediction =
           "Without a mask the token that is to be told stands in the input, one place on: the "
           "loss falls to 0 by copying it. Where an answer is to be written it is not there, and "
           "what is written is not the answer.",
       .findings = {larger("loss with the mask, and without", masked.losses, open.losses),
                    larger("share of digits sorted right, with and without", masked.generated,
                           open.generated),
                    found("loss without, all answers in sight", "below 0.01",
                          format_samples(open.losses), mean_of(open.losses) < 0.01),
                    found("share of digits sorted right without", "below 0.05",
                          format_samples(open.generated), mean_of(open.generated) < 0.05),
                    beyond(found("the same of digits to be copied, not sorted", "below 0.05",
                                 format_samples(easy.generated), mean_of(easy.generated) < 0.05))},
       .figures = {chart_of({masked, open}), Table{.title = "An answer that each wrote",
                                                   .header = {"", ""},
                                                   .rows = {{masked.name, masked.written},
                                                            {open.name, open.written},
                                                            {easy.name, easy.written}}}},
       .condition = "the answer is harder to compute than to copy from one place on",
       .correction =
           "To copy a digit of the question is as easy as to copy it of the answer: there a model "
           "without a mask learns the task too. What comes next in a text is hard to compute, and "
           "there the mask is needed."}};
}

}  // namespace

Lab leak_lab() {
  return {.name = "leak",
          .question = "What does a model learn that is trained without a mask?",
          .control = "both models have the mask",
          .duration = "20 s",
          .options = {steps_option("300"), seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
