// Three ways to score a key for a query: dot product, scaled, and additive. Which of them learns to
// look up.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/scores/lookup.h"

namespace qkv {
namespace {

// One score, over the widths and seeds.
struct Form {
  Score score;
  std::vector<std::vector<Lookup>> by_width = {};

  Samples errors(size_t width) const { return values_of(by_width[width], &Lookup::last_loss); }
  Samples last_errors() const { return errors(by_width.size() - 1); }
};

Form train(const LabContext& lab, Score score) {
  Form form = {.score = score};
  lab.say(absl::StrCat("scores: ", name_of(score).en));
  for (const int64_t d : lab.integers("d")) {
    form.by_width.push_back(over_seeds(lab, [&](uint64_t seed) {
      return train_lookup(
          RandomStream(seed),
          {.score = lab.is_control() && score == Score::kScaled ? Score::kDot : score,
           .n = lab.integer("n"),
           .d = d,
           .steps = lab.integer("steps")});
    }));
  }
  return form;
}

struct Forms {
  Form dot, scaled, additive;

  std::vector<const Form*> all() const { return {&dot, &scaled, &additive}; }
};

Finding learns(const LabContext& lab, const Form& form) {
  return below(say("error at d = {0}, {1}", lab.integers("d").back(), name_of(form.score)),
               blind_error(lab.integer("n")) / 2, form.last_errors());
}

Section width_section(const LabContext& lab, const Forms& forms) {
  const std::vector<int64_t> widths = lab.integers("d");
  const int64_t first = widths.front(), last = widths.back();
  LineChart by_width = line_chart(say("Error of the answers, at the end"), log_axis("d"),
                                  log_axis(say("error"))),
            by_step = line_chart(say("Error of the answers at d = {0}, first seed", last),
                                 say("step"), log_axis(say("error")));
  std::vector<size_t> places(widths.size());
  std::iota(places.begin(), places.end(), 0);
  for (const Form* form : forms.all()) {
    by_width.series.push_back(series_by(
        name_of(form->score), places, [&](size_t i) { return widths[i]; },
        [&](size_t i) { return form->errors(i); }));
    Series steps = numbered_series(name_of(form->score), form->by_width.back()[0].losses);
    steps.has_marks = false;
    by_step.series.push_back(std::move(steps));
  }
  for (LineChart* chart : {&by_width, &by_step}) {
    chart->levels = {{say("an even mixture"), blind_error(lab.integer("n"))}};
  }
  constexpr int64_t kUsual = 64;  // d_k of Vaswani et al. 2017: from here on d is large
  const auto where_large = [&](const Finding& finding) {
    return last >= kUsual ? finding : beyond(finding);
  };
  Section section = make_section(
      "scores.width",
      {named("learned", premise(learns(lab, forms.scaled))),
       where_large(named("scaled", larger(say("error at d = {0}: q·k, and q·k / √d", last),
                                          forms.dot.last_errors(), forms.scaled.last_errors()))),
       where_large(larger(say("error at d = {0}: q·k, and additive", last), forms.dot.last_errors(),
                          forms.additive.last_errors())),
       beyond(named("small", larger(say("error at d = {0}: q·k, and q·k / √d", first),
                                    forms.dot.errors(0), forms.scaled.errors(0))))},
      {by_width, by_step});
  add_map(section, "map",
          {.title = say("Divided by √d, the error is smaller"),
           .x_name = "d",
           .y_name = "n",
           .x = {4, 16, 64},
           .y = {8, 16, 32},
           .at = [&](double d, double n) {
             const LabContext there = lab.with("d", d).with("n", n);
             return larger("", train(there, Score::kDot).last_errors(),
                           train(there, Score::kScaled).last_errors());
           }});
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  const Forms forms = {.dot = train(lab, Score::kDot),
                       .scaled = train(lab, Score::kScaled),
                       .additive = train(lab, Score::kAdditive)};
  return {width_section(lab, forms)};
}

}  // namespace

Lab scores_lab() { return make_lab("scores", run); }

}  // namespace qkv
