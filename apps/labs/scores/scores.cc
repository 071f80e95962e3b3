// Four ways to score a key for a query: dot product, scaled, additive, and the distance of kernel
// regression. What each teaches the query, and which of them learns to look up.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/scores/lookup.h"
#include "framework/graph/graph_walk.h"
#include "framework/graph/node.h"

namespace qkv {
namespace {

// Queries and keys that are drawn, and what the additive score needs.
struct Drawn {
  Tensor q, k, v, bias;

  Tensor scores(Score score) const { return scores_of(score, q, k, v, bias); }
};

Drawn draw(uint64_t seed, int64_t queries, int64_t keys, int64_t d) {
  const RandomStream random(seed);
  const auto normal = [&](const char* name, const Shape& shape) {
    return as_parameter(random_normal(random, name, shape));
  };
  return {.q = normal("q", {queries, d}),
          .k = normal("k", {keys, d}),
          .v = normal("v", {d}),
          .bias = normal("b", {d})};
}

// ds / dq of one query and one key, as the formula has it.
Tensor formula_of(Score score, const Drawn& drawn) {
  const double root = std::sqrt(static_cast<double>(drawn.q.dim(1)));
  switch (score) {
    case Score::kDot:
      return drawn.k;
    case Score::kScaled:
      return drawn.k / root;
    case Score::kAdditive: {
      const Tensor t = tanh(drawn.q + drawn.k + drawn.bias);
      return drawn.v * (1.0 - t * t);
    }
    case Score::kKernel:
      return (drawn.k - drawn.q) / root;
  }
  return {};
}

// Vectors of one number: the score of the key 1 by the query.
LineChart curves() {
  Samples queries(33);
  for (size_t i = 0; i < queries.size(); ++i) queries[i] = static_cast<double>(i) / 4 - 4;
  const auto key = constant_f64({1, 1}, {1}), one = constant_f64({1}, {1}),
             zero = constant_f64({1}, {0});
  LineChart chart = line_chart(say("Score of the key 1, d = 1"), say("query"), say("score"));
  for (const Score score : {Score::kDot, Score::kAdditive, Score::kKernel}) {
    Series series = series_by(name_of(score), queries, std::identity(), [&](double query) {
      return scores_of(score, constant_f64({1, 1}, {query}), key, one, zero).item();
    });
    series.has_marks = false;
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Section gradient_section(const LabContext& lab) {
  Section section = make_section("scores.gradient");
  const int64_t d = lab.integers("d").back(), n = lab.integer("n");
  for (const Score score : kScores) {
    const auto error = [&](uint64_t seed) {
      const Drawn drawn = draw(seed, 1, 1, d);
      const Tensor by_engine = backward(sum(drawn.scores(score)))[drawn.q];
      return largest_difference(by_engine,
                                formula_of(lab.is_control() ? Score::kDot : score, drawn));
    };
    section.add(same(say("ds/dq by the engine and by the formula, {0}", name_of(score)),
                     most_of(over_seeds(lab, error))));
  }
  section.add(same(say("-d log p_j / dq, and Σ_c p_c k_c - k_j, q·k"),
                   most_of(over_seeds(lab, [&](uint64_t seed) {
                     const Drawn drawn = draw(seed, 1, n, d);
                     const Tensor weights = softmax(drawn.scores(Score::kDot));
                     const Tensor back = backward(neg(log_softmax(drawn.scores(Score::kDot))),
                                                  {.cotangent = row_of(identity(n), 0)})[drawn.q];
                     return largest_difference(back, matmul(weights, drawn.k) - row_of(drawn.k, 0));
                   }))));
  section.add(same(say("weights of kernel regression and of q·k / √d, keys of one length"),
                   most_of(over_seeds(lab, [&](uint64_t seed) {
                     Drawn drawn = draw(seed, n, n, d);
                     drawn.k = drawn.k / reshape(lengths_of_rows(drawn.k), {n, 1});
                     return largest_difference(softmax(drawn.scores(Score::kKernel)),
                                               softmax(drawn.scores(Score::kScaled)));
                   }))));
  section.show(curves());
  return section;
}

// One score, over the widths and seeds.
struct Form {
  Score score;
  std::vector<std::vector<Lookup>> by_width = {};

  Samples errors(size_t width) const { return values_of(by_width[width], &Lookup::last_loss); }
  Samples last_errors() const { return errors(by_width.size() - 1); }
  Samples last_shares() const {
    return values_of(by_width.back(),
                     [](const Lookup& each) { return share_of_partners(each, each.scores()); });
  }
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
  Form dot, scaled, additive, kernel;

  std::vector<const Form*> all() const { return {&dot, &scaled, &additive, &kernel}; }
};

// The variance of the scores before the training, at the largest width.
Samples first_variances(const LabContext& lab, Score score) {
  return over_seeds(lab, [&](uint64_t seed) {
    return variance_of(
        train_lookup(RandomStream(seed),
                     {.score = score, .n = lab.integer("n"), .d = lab.integers("d").back()})
            .scores());
  });
}

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
  return make_section(
      "scores.width",
      {named("learned", premise(learns(lab, forms.scaled))),
       larger(say("variance of the scores at the start, d = {0}: q·k, and additive", last),
              first_variances(lab, Score::kDot), first_variances(lab, Score::kAdditive)),
       where_large(named("scaled", larger(say("error at d = {0}: q·k, and q·k / √d", last),
                                          forms.dot.last_errors(), forms.scaled.last_errors()))),
       where_large(larger(say("error at d = {0}: q·k, and additive", last), forms.dot.last_errors(),
                          forms.additive.last_errors())),
       beyond(named("small", larger(say("error at d = {0}: q·k, and q·k / √d", first),
                                    forms.dot.errors(0), forms.scaled.errors(0))))},
      {by_width, by_step});
}

// Numbers of the largest array on the way from queries and keys to scores.
double largest_array(const Tensor& scores) {
  double largest = static_cast<double>(scores.shape().size());
  for (const auto& node : nodes_behind(scores.node())) {
    for (const Tensor& input : node->inputs()) {
      largest = std::max(largest, static_cast<double>(input.shape().size()));
    }
  }
  return largest;
}

Section usual_section(const LabContext& lab, const Forms& forms) {
  const int64_t d = lab.integers("d").back();
  const Drawn drawn =
      draw(1, d, d, d);  // as many words as numbers: queries are no larger than scores
  return make_section(
      "scores.usual",
      {premise(learns(lab, forms.scaled)), premise(learns(lab, forms.additive)),
       premise(learns(lab, forms.kernel)),
       alike(say("share of words that find their partner, d = {0}: q·k / √d, and additive", d),
             forms.scaled.last_shares(), forms.additive.last_shares(),
             /*tolerance=*/1 / static_cast<double>(lab.integer("n"))),
       equal(say("largest array on the way to the scores, additive over q·k, {0} words", d), d,
             largest_array(drawn.scores(Score::kAdditive)) /
                 largest_array(drawn.scores(Score::kDot)))},
      {table_by(say("Words that find their partner, d = {0}", d),
                {say("score"), say("share"), say("error")}, forms.all(), [](const Form* form) {
                  return std::vector<Text>{name_of(form->score),
                                           format_samples(form->last_shares()),
                                           format_samples(form->last_errors())};
                })});
}

std::vector<Section> run(const LabContext& lab) {
  const Forms forms = {.dot = train(lab, Score::kDot),
                       .scaled = train(lab, Score::kScaled),
                       .additive = train(lab, Score::kAdditive),
                       .kernel = train(lab, Score::kKernel)};
  return {gradient_section(lab), width_section(lab, forms), usual_section(lab, forms)};
}

}  // namespace

Lab scores_lab() { return make_lab("scores", run); }

}  // namespace qkv
