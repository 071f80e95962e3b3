// A model that is trained without a mask reads the answer that it is asked for.
#include "lessons/labs/kit.h"
#include "lessons/labs/trained.h"
#include "train/run/generate.h"

namespace qkv {
namespace {

struct Form {
  std::string name, task;
  bool is_causal;
  std::vector<Trained> models = {};
  Samples generated = {};    // share of answers that it writes right by itself
  std::string written = {};  // "01234567= 7654…, written 3333…"

  Samples losses() const { return losses_of(models); }  // of what it has not seen, answers in sight
};

double generate_answers(const LabContext& lab, const Trained& trained, Form& form) {
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
  const Vocabulary& vocabulary = trained.data->vocabulary();
  if (form.written.empty()) {
    form.written = absl::StrCat(vocabulary.decode(prompts[0]), vocabulary.decode(written[0]));
  }
  double right = 0;
  for (size_t i = 0; i < written.size(); ++i) right += written[i] == answers[i] ? 1 : 0;
  return right / static_cast<double>(count);
}

void train(const LabContext& lab, Form& form) {
  form.models =
      train_over_seeds(lab, {absl::StrCat("data.task=", form.task),
                             absl::StrCat("attention.causal=", form.is_causal ? "true" : "false")});
  for (const Trained& each : form.models) {
    form.generated.push_back(generate_answers(lab, each, form));
  }
}

std::vector<Section> run(const LabContext& lab) {
  const bool is_masked = lab.is_control();
  Form masked = {"with the mask", "sort", true}, open = {"without", "sort", is_masked},
       easy = {"without, digits copied", "copy", is_masked};
  for (Form* form : {&masked, &open, &easy}) train(lab, *form);
  return {make_section(
      "leak.mask",
      {larger("loss with the mask, and without", masked.losses(), open.losses()),
       larger("share of digits sorted right, with and without", masked.generated, open.generated),
       below("loss without, all answers in sight", 0.01, open.losses()),
       below("share of digits sorted right without", 0.05, open.generated),
       beyond(below("the same of digits to be copied, not sorted", 0.05, easy.generated))},
      {chart_of_losses({numbered_series(masked.name, masked.models[0].losses),
                        numbered_series(open.name, open.models[0].losses)}),
       Table{.title = "An answer that each wrote",
             .header = {"", ""},
             .rows = {{masked.name, masked.written},
                      {open.name, open.written},
                      {easy.name, easy.written}}}})};
}

}  // namespace

Lab leak_lab() { return make_lab("leak", run); }

}  // namespace qkv
