// Why the scores of attention are divided by the root of d_k.
#include "apps/labs/kit/lab_kit.h"

namespace qkv {
namespace {

// How the d numbers of a query and of a key are drawn.
struct Elements {
  double times = 1, shift = 0;  // deviation and mean
  double correlation = 0;       // of two of them; 1: all d are one and the same number
};

// The variance of one block of n × n scores is known to a share of 2 / √(n d): with this many
// blocks it is known to a share of a thirtieth.
int64_t blocks_of(const LabContext& lab, int64_t d) {
  constexpr int64_t kNumbers = 4096;
  const int64_t numbers = lab.integer("n") * d;
  return (kNumbers + numbers - 1) / numbers;
}

// Q Kᵀ of each block, one below the other.   [blocks n, n]
Tensor draw_products(const LabContext& lab, uint64_t seed, int64_t d, const Elements& elements) {
  constexpr int64_t kFewer = 8;  // blocks suffice to tell d² from d
  const RandomStream random(seed);
  const int64_t n = lab.integer("n");
  const int64_t blocks = blocks_of(lab, elements.correlation > 0 ? std::min(d, kFewer) : d);
  const auto draw = [&](const std::string& name) {
    const Tensor own = random_normal(random, name, {blocks, n, d}),
                 common = random_normal(random, name + " in common", {blocks, n, 1});
    const Tensor drawn =
        own * std::sqrt(1 - elements.correlation) + common * std::sqrt(elements.correlation);
    return drawn * elements.times + elements.shift;
  };
  return reshape(products_of_rows(draw("queries"), draw("keys")), {blocks * n, n});
}

// The measurements for n keys and n queries of d numbers.
struct Measured {
  double mean = 0, variance = 0;   // of the scores
  double largest = 0;              // weight of a row, the mean over the rows
  double largest_in_size = 0;      // the weight where |s| is largest
  double entropy = 0;              // of a row, in nats
  double passed_on = 0;            // |dS| / |dP|, of all rows together
  double passed_on_by_median = 0;  // |dS| / |dP|, of the median row
  Samples passed_on_by_row = {};   // the same of each row, ascending
};

void add_weights_of_rows(const Tensor& scores, const Tensor& weights, Measured& measured) {
  const Samples s = scores.to_vector(), p = weights.to_vector();
  const auto n = static_cast<size_t>(scores.dim(1));
  const double rows = static_cast<double>(scores.dim(0));
  for (size_t row = 0; row < p.size(); row += n) {
    size_t largest_size = row;
    double largest = 0;
    for (size_t i = row; i < row + n; ++i) {
      if (std::abs(s[i]) > std::abs(s[largest_size])) largest_size = i;
      largest = std::max(largest, p[i]);
    }
    measured.largest += largest / rows;
    measured.largest_in_size += p[largest_size] / rows;
  }
}

Measured measure(const LabContext& lab, const Tensor& products, double factor, uint64_t seed) {
  const Tensor scores = as_parameter(products * factor);  // S = factor Q Kᵀ
  const Tensor logits = lab.breaks("size") ? sqrt(scores * scores) : scores;
  const Tensor weights = softmax(logits);  // P
  const Tensor pushed = random_normal(RandomStream(seed), "dP", weights.shape());
  const Tensor back = backward(sum(mul(weights, pushed)), {.keep_graph = true})[scores];
  Measured measured = {.mean = mean(scores).item(),
                       .variance = variance_of(scores),
                       .entropy = -mean(sum(weights * log_softmax(logits), -1)).item(),
                       .passed_on = size_of(back) / size_of(pushed),
                       .passed_on_by_row = shares_of_rows(back, pushed)};
  measured.passed_on_by_median = quantile_of(measured.passed_on_by_row);
  add_weights_of_rows(scores, weights, measured);
  return measured;
}

// One d, over the seeds.
struct Row {
  int64_t d = 0;
  std::vector<Measured> seeds = {};

  Samples of(double Measured::*number) const { return values_of(seeds, number); }
};
using Rows = std::vector<Row>;  // by d

Rows measure_all(const LabContext& lab, bool is_scaled) {
  const Elements elements = {.correlation = lab.breaks("dependent") ? 1.0 : 0.0};
  return each_of(lab.integers("d"), [&](int64_t d) {
    const double factor = is_scaled ? 1 / std::sqrt(static_cast<double>(d)) : 1;
    return Row{d, over_seeds(lab, [&](uint64_t seed) {
                 return measure(lab, draw_products(lab, seed, d, elements), factor, seed);
               })};
  });
}

Series series_of(const Text& name, const Rows& rows, double Measured::*number) {
  return series_by(name, rows, &Row::d, [&](const Row& row) { return row.of(number); });
}

LineChart chart_of(const Text& title, const Text& label, const Rows& plain, const Rows& scaled,
                   double Measured::*number) {
  return line_chart(title, log_axis("d"), label,
                    {series_of(say("not divided"), plain, number),
                     series_of(say("divided by √d"), scaled, number)});
}

// The mean of the scores in their deviations √d, over all d.
Finding mean_near_zero(const Rows& plain) {
  Samples means(plain[0].seeds.size());
  for (size_t i = 0; i < means.size(); ++i) {
    for (const Row& row : plain) {
      means[i] += row.seeds[i].mean / std::sqrt(static_cast<double>(row.d)) /
                  static_cast<double>(plain.size());
    }
  }
  return between(say("mean of the scores over √d, of all d"), -0.05, 0.05, means);
}

constexpr double kTenth = 0.1;

// The variance where elements are drawn otherwise, at the largest d.
Finding variance_of_other(const LabContext& lab, const char* name, const Text& elements,
                          const Elements& drawn) {
  const int64_t d = lab.integers("d").back();
  const Samples variances = over_seeds(
      lab, [&](uint64_t seed) { return variance_of(draw_products(lab, seed, d, drawn)); });
  return beyond(named(name, near(say("variance of the scores, {0}, d = {1}", elements, d),
                                 static_cast<double>(d), variances, kTenth)));
}

Section variance_section(const LabContext& lab, const Rows& plain) {
  Section section = make_section("scaling.variance", {mean_near_zero(plain)});
  for (const Row& row : plain) {
    section.add(near(say("variance of the scores, d = {0}", row.d), static_cast<double>(row.d),
                     row.of(&Measured::variance), kTenth));
  }
  section.add(variance_of_other(lab, "zero", say("all elements 0"), {.times = 0}));
  section.add(variance_of_other(lab, "shifted", say("elements of mean 1"), {.shift = 1}));
  section.add(variance_of_other(lab, "dependent", say("all elements of a vector one number"),
                                {.correlation = 1}));
  add_map(section, "map",
          {.title = say("The variance is d, to a tenth, where elements have the correlation r"),
           .x_name = "r",
           .y_name = "d",
           .x = {0.003, 0.01, 0.03, 0.1, 0.3},
           .y = {4, 16, 64, 256},
           .at = [&](double correlation, double d) {
             return near(
                 "", d,
                 over_seeds(lab,
                            [&](uint64_t seed) {
                              return variance_of(draw_products(lab, seed, std::llround(d),
                                                               {.correlation = correlation}));
                            }),
                 kTenth);
           }});
  Series predicted = series_by(say("predicted: d"), plain, &Row::d, &Row::d);
  predicted.has_marks = false;
  section.show(line_chart(say("Variance of the scores"), log_axis("d"), log_axis(say("variance")),
                          {series_of("q·k", plain, &Measured::variance), predicted}));
  return section;
}

Section saturation_section(const Rows& plain, const Rows& scaled) {
  const Row &last = plain.back(), &divided = scaled.back();
  return make_section(
      "scaling.saturation",
      {larger(say("largest weight at d = {0}, of scores of variance {0} and of variance 1", last.d),
              last.of(&Measured::largest), divided.of(&Measured::largest)),
       larger(say("entropy at d = {0}, of scores of variance 1 and of variance {0}", last.d),
              divided.of(&Measured::entropy), last.of(&Measured::entropy))},
      {chart_of(say("Largest weight of a row"), say("weight"), plain, scaled, &Measured::largest)});
}

Section largest_section(const Rows& plain) {
  const Row& last = plain.back();
  return make_section(
      "scaling.largest",
      {named("weights",
             alike(say("weight of the score that is largest in size, and largest weight, d = {0}",
                       last.d),
                   last.of(&Measured::largest_in_size), last.of(&Measured::largest),
                   /*tolerance=*/0.01))},
      {line_chart(say("What the weight goes to, not divided"), log_axis("d"), say("weight"),
                  {series_of(say("the largest score"), plain, &Measured::largest),
                   series_of(say("the score that is largest in size"), plain,
                             &Measured::largest_in_size)})});
}

Section steepness_section(const Rows& plain, const Rows& scaled) {
  const Row &first = scaled.front(), &last = scaled.back();
  const auto stays = [&](const Text& what, double Measured::*number) {
    const Samples at_first = first.of(number), at_last = last.of(number);
    Samples shares;
    for (size_t i = 0; i < at_last.size(); ++i) shares.push_back(at_last[i] / at_first[i]);
    return near(say("{0}: at d = {1}, over that at d = {2}", what, last.d, first.d), 1, shares,
                /*tolerance=*/0.25);
  };
  return make_section(
      "scaling.steepness",
      {near(say("variance of the scores, divided, d = {0}", first.d), 1,
            first.of(&Measured::variance), kTenth),
       near(say("variance of the scores, divided, d = {0}", last.d), 1,
            last.of(&Measured::variance), kTenth),
       stays(say("largest weight"), &Measured::largest), stays(say("entropy"), &Measured::entropy)},
      {chart_of(say("Entropy of a row, in nats"), say("entropy"), plain, scaled,
                &Measured::entropy)});
}

// The smallest number of all d, over the largest: 1 where d does not matter.
Samples steadiness(const Rows& rows, double Measured::*number) {
  Samples shares;
  for (size_t i = 0; i < rows[0].seeds.size(); ++i) {
    const Samples over_d = values_of(rows, [&](const Row& row) { return row.seeds[i].*number; });
    shares.push_back(least_of(over_d) / most_of(over_d));
  }
  return shares;
}

Section gradient_section(const LabContext& lab, const Rows& plain, const Rows& scaled) {
  constexpr int64_t kUsual = 64;  // d_k of Vaswani et al. 2017: from here on scores are large
  const Row &all = plain.back(), &divided = scaled.back();
  const auto steadier = [&](const Text& rows, double Measured::*number) {
    return larger(say("{0}: smallest |dS| / |dP| of all d over the largest, divided and not", rows),
                  steadiness(scaled, number), steadiness(plain, number));
  };
  const auto more = [&](const Text& rows, double Measured::*number) {
    return larger(say("{0}: |dS| / |dP| at d = {1}, divided and not", rows, all.d),
                  divided.of(number), all.of(number));
  };
  const Text middle = say("the median row"), together = say("all rows together");
  const Finding vanishes = named("middle", more(middle, &Measured::passed_on_by_median));
  const auto row_at = [](const Rows& rows, double d, double u) {
    const Row& row = *std::ranges::find(rows, std::llround(d), &Row::d);
    return values_of(row.seeds,
                     [=](const Measured& each) { return quantile_of(each.passed_on_by_row, u); });
  };
  Section section = make_section(
      "scaling.gradient",
      {steadier(middle, &Measured::passed_on_by_median), steadier(together, &Measured::passed_on),
       all.d >= kUsual ? vanishes : beyond(vanishes),
       beyond(named("all", more(together, &Measured::passed_on)))},
      {chart_of(say("|dS| / |dP|, all rows together"), say("share"), plain, scaled,
                &Measured::passed_on),
       chart_of(say("|dS| / |dP|, the median row"), say("share"), plain, scaled,
                &Measured::passed_on_by_median)});
  add_map(
      section, "map",
      {.title = say("Divided, a row that gets more than a share u of all rows gets more gradient"),
       .x_name = "d",
       .y_name = "u",
       .x = lab.numbers("d"),
       .y = {0.1, 0.3, 0.5, 0.7, 0.9},
       .at = [&](double d, double u) {
         return larger("", row_at(scaled, d, u), row_at(plain, d, u));
       }});
  return section;
}

// The softmax of many rows whose scores are multiplied or shifted.
struct Pulled {
  double factor = 1;
  double largest = 0;    // weight of a row, the mean
  double passed_on = 0;  // |dS| / |dP| of the median row: one whose two largest scores are about
                         // the same passes on more than others however large they are
};

Pulled measure_pulled(const LabContext& lab, uint64_t seed, double factor, double shift = 0) {
  constexpr int64_t kRows = 200, kKeys = 6;
  const RandomStream random(seed);
  const Shape shape = {kRows, kKeys};
  const Tensor scores = as_parameter(random_normal(random, "S of many", shape) * factor + shift);
  const Tensor pushed = random_normal(random, "dP of many", shape);
  // e^z has to be divided by its sum; a control leaves that out.
  const Tensor weights = lab.breaks("sum") ? exp(scores) : softmax(scores);
  const Tensor back = backward(weights, {.cotangent = pushed, .keep_graph = true})[scores];
  return {.factor = factor,
          .largest = mean(max(weights, -1)).item(),
          .passed_on = quantile_of(shares_of_rows(back, pushed))};
}

Section differences_section(const LabContext& lab) {
  const auto answers_at = [&](double factor, double shift = 0) {
    return over_seeds(lab, [&](uint64_t seed) { return measure_pulled(lab, seed, factor, shift); });
  };
  const Samples factors = {1, 4, 16, 64, 256};
  const auto answers = each_of(factors, [&](double factor) { return answers_at(factor); });
  const auto series = [&](const Text& name, double Pulled::*number) {
    return series_by(
        name, answers, [](const auto& each) { return each[0].factor; },
        [&](const auto& each) { return values_of(each, number); });
  };
  const auto largest = [](const auto& each) { return values_of(each, &Pulled::largest); };
  const auto passed_on = [](const auto& each) { return values_of(each, &Pulled::passed_on); };
  const auto shifted = answers_at(1, 1000);
  Samples changes = largest(shifted);
  for (size_t i = 0; i < changes.size(); ++i) {
    changes[i] = std::abs(changes[i] - answers[0][i].largest);
  }
  Section section = make_section(
      "scaling.differences",
      {larger(say("largest weight of a row, scores times 256 and times 1"), largest(answers.back()),
              largest(answers[0])),
       larger(say("|dS| / |dP| of the median row, scores times 1 and times 256"),
              passed_on(answers[0]), passed_on(answers.back())),
       beyond(named("shifted", differ(say("largest weight before and after 1000 is added to all"),
                                      most_of(changes))))},
      {line_chart(say("Scores that are multiplied"), log_axis(say("scores times")), say("share"),
                  {series(say("largest weight"), &Pulled::largest),
                   series(say("|dS| / |dP|"), &Pulled::passed_on)})});
  add_map(section, "map",
          {.title = say("Scores of deviation s and mean c: the largest weight is above 0.9"),
           .x_name = "s",
           .y_name = "c",
           .x = factors,
           .y = {0, 10, 1000},
           .at = [&](double s, double c) { return above("", 0.9, largest(answers_at(s, c))); }});
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  const Rows plain = measure_all(lab, /*is_scaled=*/lab.breaks("plain")),
             scaled = measure_all(lab, /*is_scaled=*/!lab.is_control());
  return {variance_section(lab, plain),
          saturation_section(plain, scaled),
          largest_section(plain),
          steepness_section(plain, scaled),
          gradient_section(lab, plain, scaled),
          differences_section(lab)};
}

}  // namespace

Lab scaling_lab() { return make_lab("scaling", run); }

}  // namespace qkv
