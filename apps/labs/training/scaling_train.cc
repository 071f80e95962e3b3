// The effect of dividing the scores by the root of d_k on a training.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"

namespace qkv {
namespace {

constexpr int64_t kWidth = 64;  // of the model, and of its one head

// Maps begin with deviation 0.02, so that q and k of a normalized x have variance C 0.02². With
// this factor the scores are those of queries and keys of variance 1, as the notes have them.
constexpr double kToVarianceOne = 1 / (kWidth * 0.02 * 0.02);

// How steep attention is after some steps.
struct Steepness {
  double largest = 0;    // weight of a row, the mean over the rows
  double entropy = 0;    // of a row, over that of even weights
  double passed_on = 0;  // |dS| / |dP|, of all rows together
};

// Trainings of one kind, over the seeds.
struct Form {
  Text name;
  std::vector<Trained> models = {};
  std::vector<Steepness> begin = {}, end = {};

  // The decimal logarithm of how much the norm of the gradient changes from a step to the next.
  Samples jumps() const {
    return log10_of(values_of(models, [](const Trained& trained) {
      const std::vector<double>& norms = trained.grad_norms;
      Samples changes;
      for (size_t i = 1; i < norms.size(); ++i) {
        changes.push_back(std::log(norms[i] / norms[i - 1]));
      }
      return deviation_of(changes);
    }));
  }
};

Steepness measure(const Model& model, const Dataset& data) {
  constexpr int64_t kRows = 64;
  const Traced loss = trace_loss(model, data.validation_batch(0, kRows));
  const Tensor scores = loss.trace["blocks.0.attention.masked_scores"];
  const Tensor weights = loss.trace["blocks.0.attention.weights"];  // [B, 1, T, T]; causal
  const Gradients gradients = backward(loss.result, {.keep = {scores, weights}});
  constexpr double kTiny = 1e-30;  // 0 log 0 is 0
  const double entropy = -mean(sum(weights * log(weights + kTiny), -1)).item();
  double even = 0;  // row t has t keys
  const int64_t length = weights.dim(3);
  for (int64_t t = 1; t <= length; ++t) even += std::log(static_cast<double>(t));
  return {.largest = mean(max(weights, -1)).item(),
          .entropy = entropy * static_cast<double>(length) / even,
          .passed_on = size_of(gradients[scores]) / size_of(gradients[weights])};
}

Form train(const LabContext& lab, const Text& name, double scale) {
  Form form = {.name = name,
               .models = train_over_seeds(lab, {absl::StrCat("attention.scale=", scale)})};
  for (const Trained& each : form.models) {
    form.begin.push_back(measure(untrained(each), *each.data));
    form.end.push_back(measure(each.model, *each.data));
  }
  return form;
}

// At the begin and at the end of the trainings.
Table table_of(const std::vector<Form>& forms) {
  const auto both = [](const Form& form, double Steepness::*number) {
    return Text(format_samples(values_of(form.begin, number))) + " → " +
           format_samples(values_of(form.end, number));
  };
  return table_by(say("From the first step to the last"),
                  {"", say("largest weight"), say("entropy, over that of even weights"),
                   say("|dS| / |dP|"), say("loss at the end, unseen")},
                  forms, [&](const Form& form) {
                    return std::vector<Text>{
                        form.name, both(form, &Steepness::largest), both(form, &Steepness::entropy),
                        both(form, &Steepness::passed_on), format_samples(losses_of(form.models))};
                  });
}

std::vector<Section> run(const LabContext& lab) {
  const double divisor = lab.is_control() ? 1 : std::sqrt(static_cast<double>(kWidth));
  const std::vector<Form> forms = {train(lab, say("variance 1, divided"), kToVarianceOne / divisor),
                                   train(lab, say("variance 1, not divided"), kToVarianceOne),
                                   train(lab, say("small start, divided"), 1 / divisor),
                                   train(lab, say("small start, not divided"), 1)};
  const Form &divided = forms[0], &plain = forms[1];
  const auto steeper = [&](const Text& when, const std::vector<Steepness> Form::*moment) {
    return larger(say("entropy {0}, variance 1, divided and not", when),
                  values_of(divided.*moment, &Steepness::entropy),
                  values_of(plain.*moment, &Steepness::entropy));
  };
  const auto jump_more = [&](const Form& more, const Form& less) {
    return larger(say("log10 of how much |g| jumps: {0}, and {1}", more.name, less.name),
                  more.jumps(), less.jumps());
  };
  return {make_section(
      "scaling-train.training",
      {jump_more(plain, divided), steeper(say("at the start"), &Form::begin),
       steeper(say("at the end"), &Form::end),
       beyond(named("small", jump_more(forms[3], forms[2])))},
      {line_chart(say("Norm of the gradient, first seed"), say("step"), log_axis("|g|"),
                  each_of(forms,
                          [](const Form& form) {
                            return numbered_series(form.name, form.models[0].grad_norms);
                          })),
       table_of(forms)})};
}

}  // namespace

Lab scaling_train_lab() { return make_lab("scaling-train", run); }

}  // namespace qkv
