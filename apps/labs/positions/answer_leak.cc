// A model that is trained without a mask reads the answer that it is asked for.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/core/sure.h"
#include "train/generate/generate.h"

namespace qkv {
namespace {

// Questions that were not in training, with their answers, all of one length.
struct Questions {
  std::vector<Tokens> prompts = {}, answers = {};

  explicit Questions(const Trained& trained) {
    for (int64_t i = 0; i < trained.config.data.validation_examples; ++i) {
      const Example example = trained.data->validation_example(i);
      prompts.push_back(example.prompt);
      answers.push_back(example.answer);
    }
  }
  int64_t length() const { return std::ssize(answers[0]); }
};

struct Form {
  Text name;
  std::string task;
  bool is_causal;
  std::vector<Trained> models = {};
  Samples written = {};                // share of answers that it writes right by itself
  std::vector<Samples> by_place = {};  // the loss of each number of an answer, of each seed
  std::string example = {};            // "01234567=76543210"

  // Where all of the answer stands in the input, and where only what comes before does.
  Samples in_sight() const { return losses_of(models); }
  Samples hidden() const {
    return values_of(by_place, [](const Samples& losses) { return mean_of(losses); });
  }
  Series curve() const {
    return numbered_series(name, each_of(counted(by_place[0].size()).to_vector(), [&](double i) {
                             return mean_of(values_of(by_place, [&](const Samples& losses) {
                               return losses[static_cast<size_t>(i)];
                             }));
                           }));
  }
};

Array first_of(const std::vector<Tokens>& rows, int64_t count) {
  Tokens all;
  for (const Tokens& row : rows) all.insert(all.end(), row.begin(), row.begin() + count);
  return Array::of({std::ssize(rows), count}, all);
}

// -log p of each number of an answer, the mean over the questions. What comes after it is not
// there.
Samples losses_by_place(const Trained& trained, const Questions& questions) {
  const Array prompts = first_of(questions.prompts, std::ssize(questions.prompts[0]));
  Samples losses;
  for (int64_t i = 0; i < questions.length(); ++i) {
    const Array before = i > 0 ? first_of(questions.answers, i) : Array();
    Tokens targets;
    for (const Tokens& answer : questions.answers) {
      targets.push_back(answer[static_cast<size_t>(i)]);
    }
    const Tensor logits = trained.model.next_logits(prompts, before, nullptr);
    losses.push_back(cross_entropy(logits, tokens_of(targets)).item());
  }
  return losses;
}

void write_answers(const LabContext& lab, const Trained& trained, const Questions& questions,
                   Form& form) {
  lab.say(absl::StrCat("leak: ", form.name.en, " writes"));
  const std::vector<Tokens> written =
      sure(generate_all(trained.model, questions.prompts, questions.length(), {.temperature = 0}));
  const Vocabulary& vocabulary = trained.data->vocabulary();
  if (form.example.empty()) {
    form.example =
        absl::StrCat(vocabulary.decode(questions.prompts[0]), vocabulary.decode(written[0]));
  }
  double right = 0;
  for (size_t i = 0; i < written.size(); ++i) right += written[i] == questions.answers[i] ? 1 : 0;
  form.written.push_back(right / static_cast<double>(written.size()));
}

void train(const LabContext& lab, Form& form) {
  form.models =
      train_over_seeds(lab, {absl::StrCat("data.task=", form.task),
                             absl::StrCat("attention.causal=", form.is_causal ? "true" : "false")});
  for (const Trained& each : form.models) {
    const Questions questions(each);
    write_answers(lab, each, questions, form);
    form.by_place.push_back(losses_by_place(each, questions));
  }
}

Finding learned(const Form& masked) {
  return premise(at_least(say("share of answers written right with the mask, the worst seed"), 0.9,
                          least_of(masked.written)));
}

Section mask_section(const Form& masked, const Form& open, const Form& easy) {
  Section section = make_section(
      "leak.mask",
      {learned(masked),
       named("leak",
             larger(say("loss without the mask, the rest of the answer hidden and in sight"),
                    open.hidden(), open.in_sight())),
       named("written", larger(say("share of answers written right, with the mask and without"),
                               masked.written, open.written)),
       beyond(named("easy", below(say("the same without, digits copied and not sorted"), 0.5,
                                  easy.written)))},
      {chart_of_losses({numbered_series(masked.name, masked.models[0].losses),
                        numbered_series(open.name, open.models[0].losses)}),
       Table{.title = say("An answer that each wrote"),
             .header = {"", ""},
             .rows = {{masked.name, masked.example},
                      {open.name, open.example},
                      {easy.name, easy.example}}}});
  add_settled(section, {training_losses_of(masked.models), training_losses_of(open.models),
                        training_losses_of(easy.models)});
  return section;
}

Section distribution_section(const Form& masked, const Form& open) {
  const double guess = std::log(static_cast<double>(masked.models[0].config.data.alphabet));
  LineChart chart =
      line_chart(say("Loss of each digit, with what comes before it alone"),
                 say("digit of the answer"), say("loss"), {masked.curve(), open.curve()});
  chart.levels = {{say("by guessing"), guess}};
  return make_section(
      "leak.distribution",
      {learned(masked),
       named("fit",
             larger(say("loss with what comes before alone, trained without the mask and with"),
                    open.hidden(), masked.hidden())),
       beyond(named("sight",
                    larger(say("loss with all of the answer in sight, without the mask and with"),
                           open.in_sight(), masked.in_sight())))},
      {chart});
}

std::vector<Section> run(const LabContext& lab) {
  const bool is_masked = lab.is_control();
  Form masked = {say("with the mask"), "sort", true}, open = {say("without"), "sort", is_masked},
       easy = {say("without, digits copied"), "copy", is_masked};
  for (Form* form : {&masked, &open, &easy}) train(lab, *form);
  return {mask_section(masked, open, easy), distribution_section(masked, open)};
}

}  // namespace

Lab leak_lab() { return make_lab("leak", run); }

}  // namespace qkv
