// What dividing the scores by the root of d_k does to a training.
#include "lessons/labs/kit.h"
#include "lessons/labs/trained.h"

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

// At the start, halfway and at the end, over the seeds.
struct Moment {
  int64_t steps = 0;
  std::vector<Steepness> seeds = {};
};

struct Form {
  std::string name;
  std::vector<Moment> moments = {};
  std::vector<Trained> models = {};

  // How much the norm of the gradient changes from a step to the next.
  Samples jumps() const {
    return values_of(models, [](const Trained& trained) {
      const std::vector<double>& norms = trained.grad_norms;
      Samples changes;
      for (size_t i = 1; i < norms.size(); ++i) {
        changes.push_back(std::log(norms[i] / norms[i - 1]));
      }
      return deviation_of(changes);
    });
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

// With a constant learning rate half of a training is a training of half as many steps.
std::vector<Trained> train_for(const LabContext& lab, double scale, int64_t steps) {
  return train_over_seeds(
      lab, {absl::StrCat("train.steps=", steps), absl::StrCat("attention.scale=", scale)});
}

Form train(const LabContext& lab, const std::string& name, double scale) {
  const int64_t steps = lab.integer("steps"), half = std::max<int64_t>(1, steps / 2);
  Form form = {.name = name};
  const std::vector<Trained> halfway = train_for(lab, scale, half);
  form.models = train_for(lab, scale, steps);
  const auto now = [](const Trained& each) { return measure(each.model, *each.data); };
  const auto before = [](const Trained& each) { return measure(untrained(each), *each.data); };
  form.moments = {{0, each_of(form.models, before)},
                  {half, each_of(halfway, now)},
                  {steps, each_of(form.models, now)}};
  return form;
}

Table table_of(const char* title, const std::vector<Form>& forms, double Steepness::*number) {
  return table_by(title,
                  row_by("after steps", forms[0].moments,
                         [](const Moment& moment) { return absl::StrCat(moment.steps); }),
                  forms, [&](const Form& form) {
                    return row_by(form.name, form.moments, [&](const Moment& moment) {
                      return format_samples(values_of(moment.seeds, number));
                    });
                  });
}

// What not dividing does to how much |g| jumps is a factor: the geometric mean over the seeds.
Finding jumps_more(const char* start, const Form& plain, const Form& divided) {
  return above(absl::StrCat("how much |g| jumps, ", start, ", not divided over divided"), 2,
               std::pow(10, mean_of(log10_of(plain.jumps())) - mean_of(log10_of(divided.jumps()))));
}

std::vector<Section> run(const LabContext& lab) {
  const double divisor = lab.is_control() ? 1 : std::sqrt(static_cast<double>(kWidth));
  const std::vector<Form> forms = {train(lab, "variance 1, divided", kToVarianceOne / divisor),
                                   train(lab, "variance 1, not divided", kToVarianceOne),
                                   train(lab, "small start, divided", 1 / divisor),
                                   train(lab, "small start, not divided", 1)};
  const Form &divided = forms[0], &plain = forms[1];
  Section section = make_section(
      "scaling-train.training",
      {larger("log10 of how much |g| jumps, variance 1, not divided and divided",
              log10_of(plain.jumps()), log10_of(divided.jumps())),
       jumps_more("variance 1", plain, divided),
       beyond(jumps_more("small start", forms[3], forms[2]))},
      {table_of("Largest weight of a row", forms, &Steepness::largest),
       table_of("Entropy of a row, over that of even weights", forms, &Steepness::entropy),
       table_of("|dS| / |dP|", forms, &Steepness::passed_on),
       table_by("At the end", {"", "loss, unseen", "jumps of |g|"}, forms,
                [](const Form& form) {
                  return std::vector{form.name, format_samples(losses_of(form.models)),
                                     format_samples(form.jumps())};
                }),
       line_chart("Norm of the gradient, first seed", "step", log_axis("|g|"),
                  each_of(forms, [](const Form& form) {
                    return numbered_series(form.name, form.models[0].grad_norms);
                  }))});
  const auto compare = [&](const std::string& what, double Steepness::*number, const Moment& more,
                           const Moment& less) {
    section.add(larger(what, values_of(more.seeds, number), values_of(less.seeds, number)));
  };
  for (size_t i = 0; i < plain.moments.size(); ++i) {
    const Moment &with = divided.moments[i], &without = plain.moments[i];
    const std::string when = absl::StrCat(" after ", with.steps, " steps, variance 1, ");
    compare("entropy" + when + "divided and not", &Steepness::entropy, with, without);
    compare("largest weight" + when + "not and divided", &Steepness::largest, without, with);
  }
  return {section};
}

}  // namespace

Lab scaling_train_lab() { return make_lab("scaling-train", run); }

}  // namespace qkv
