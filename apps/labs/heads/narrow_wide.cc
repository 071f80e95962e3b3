// Narrow heads, each of a part of x; wide ones, each as wide as x; and cuts between them.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/kernels/product/product_log.h"
#include "models/mixer_kind.h"

namespace qkv {
namespace {

struct Form {
  const char* name;
  Heads heads;
  double parameters = 0;            // of one layer, weights alone
  double flops = 0;                 // of its products, forward
  double held = 0;                  // numbers in queries, keys, values and heads
  Samples loss = {}, right = {};    // shares of questions
  std::vector<double> losses = {};  // of each step, first seed
};

struct Sizes {
  int64_t heads, width, tokens;

  explicit Sizes(const LabContext& lab)
      : heads(lab.integer("heads")), width(lab.integer("d")), tokens(lab.integer("n")) {}
};

// One layer by itself.
void measure_layer(const Sizes& sizes, Form& form) {
  const RandomStream random(1);
  Initializer init(random.derive("layer"), DType::f32);
  const ModelOptions options = {.d_model = sizes.width,
                                .num_heads = sizes.heads,
                                .bias = false,
                                .attention = {.heads = form.heads}};
  const Mixer layer = make_mixer(
      init, options, {.max_length = sizes.tokens, .causal = true, .residual_deviation = 0.02});
  form.parameters = static_cast<double>(parameter_count(parameters(layer)));
  const Tensor x = parameter(
      cast(random_normal(random, "x", {1, sizes.tokens, sizes.width}), DType::f32).array());
  Trace trace;
  {
    const kernels::ProductLog log;
    trace = trace_module(layer, x, AttentionMask{.causal = true}).trace;
    form.flops = log.flops();
  }
  for (const char* const name : {"q", "k", "v", "concatenated"}) {
    form.held += static_cast<double>(trace[absl::StrCat("attention.", name)].size());
  }
}

std::vector<Form> measure(const LabContext& lab) {
  std::vector<Form> forms = {{.name = "narrow", .heads = Heads::kNarrow},
                             {.name = "split", .heads = Heads::kSplit},
                             {.name = "wide", .heads = Heads::kWide}};
  const Sizes sizes(lab);
  for (Form& form : forms) {
    if (lab.is_control()) form.heads = Heads::kSplit;
    measure_layer(sizes, form);
    const auto models =
        train_over_seeds(lab, {absl::StrCat("model.num_heads=", sizes.heads),
                               absl::StrCat("attention.heads=", name_of(form.heads))});
    form.loss = losses_of(models);
    form.right = right_sequences_of(models);
    form.losses = models[0].losses;
  }
  return forms;
}

std::string count_text(double count) { return absl::StrCat(static_cast<int64_t>(count)); }

Table table_of(const std::vector<Form>& forms, const Sizes& sizes) {
  return table_by(
      say("A layer of {0} heads, d = {1}, {2} tokens; and what training with d = 32 came to",
          sizes.heads, sizes.width, sizes.tokens),
      {say("heads"), say("parameters"), "MFLOP", "q k v o", say("loss"), say("right")}, forms,
      [](const Form& form) {
        return std::vector{std::string(form.name),          count_text(form.parameters),
                           format_number(form.flops / 1e6), count_text(form.held),
                           format_samples(form.loss),       format_samples(form.right)};
      });
}

LineChart chart_of(const std::vector<Form>& forms) {
  std::vector<Series> series;
  for (const Form& form : forms) series.push_back(numbered_series(form.name, form.losses));
  return chart_of_losses(std::move(series));
}

// The first of two counts is the smaller.
Finding fewer(Text what, double first, double second) {
  return found(std::move(what), say("the first are fewer"),
               count_text(first) + say(" and ") + count_text(second), first < second);
}

Finding is_learned(const Form& form) {
  return premise(at_least(say("{0}: questions that are right", form.name), 0.9, form.right));
}

// The two forms of the note, and the usual heads as a third.
Section forms_section(const std::vector<Form>& forms, const Sizes& sizes) {
  const Form &narrow = forms[0], &wide = forms[2];
  return make_section(
      "narrow-wide.forms",
      {is_learned(wide),
       fewer(say("parameters, narrow and wide"), narrow.parameters, wide.parameters),
       fewer(say("operations, narrow and wide"), narrow.flops, wide.flops),
       fewer(say("queries, keys, values and heads held, narrow and wide"), narrow.held, wide.held),
       larger(say("loss, narrow and wide"), narrow.loss, wide.loss),
       beyond(named("right", larger(say("questions that are right, wide and narrow"), wide.right,
                                    narrow.right)))},
      {table_of(forms, sizes), chart_of(forms)});
}

std::vector<Section> run(const LabContext& lab) {
  return {forms_section(measure(lab), Sizes(lab))};
}

}  // namespace

Lab narrow_wide_lab() { return make_lab("narrow-wide", run); }

}  // namespace qkv
