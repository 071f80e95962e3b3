// Why the scores of attention are divided by the root of d_k.
#include "lessons/labs/kit.h"

namespace qkv {
namespace {

// What is measured for n keys and n queries of d independent numbers with variance 1.
struct Measured {
  double mean = 0, variance = 0;   // of the scores
  double largest = 0;              // weight of a row, the mean over the rows
  double entropy = 0;              // of a row, in nats
  double passed_on = 0;            // |dS| / |dP|, of all rows together
  double passed_on_by_median = 0;  // |dS| / |dP|, of the median row
};

// Q Kᵀ of elements with the mean `shift` and the deviation `times`.   [n, n]
Tensor draw_products(uint64_t seed, int64_t d, int64_t n, double times, double shift) {
  const RandomStream random(seed);
  const Tensor queries = random_normal(random, "queries", {n, d}) * times + shift;
  const Tensor keys = random_normal(random, "keys", {n, d}) * times + shift;
  return products_of_rows(queries, keys);
}

Measured measure(uint64_t seed, int64_t d, int64_t n, double factor) {
  const Tensor scores = as_parameter(draw_products(seed, d, n, 1, 0) * factor);  // S = factor Q Kᵀ
  const Tensor weights = softmax(scores);                                        // P
  const Tensor pushed = random_normal(RandomStream(seed), "dP", weights.shape());
  const Tensor back = backward(sum(mul(weights, pushed)))[scores];
  return {.mean = mean(scores).item(),
          .variance = variance_of(scores),
          .largest = mean(max(weights, -1)).item(),
          .entropy = -sum(mul(weights, log(weights))).item() / static_cast<double>(n),
          .passed_on = size_of(back) / size_of(pushed),
          .passed_on_by_median = median_share_of_rows(back, pushed)};
}

// One d, over the seeds.
struct Row {
  double d = 0;
  std::vector<Measured> seeds = {};

  Samples of(double Measured::*number) const { return values_of(seeds, number); }
};

std::vector<Row> measure_all(const LabContext& lab, bool is_scaled) {
  return each_of(lab.integers("d"), [&](int64_t d) {
    const double factor = is_scaled ? 1 / std::sqrt(static_cast<double>(d)) : 1;
    return Row{static_cast<double>(d), over_seeds(lab, [&](uint64_t seed) {
                 return measure(seed, d, lab.integer("n"), factor);
               })};
  });
}

Series series_of(const std::string& name, const std::vector<Row>& rows, double Measured::*number) {
  return series_by(name, rows, &Row::d, [&](const Row& row) { return row.of(number); });
}

// The variance of the scores of n queries and n keys is known to about a share of 2 / √(n d). The
// tolerance is four times that, over the seeds, and a tenth at the least.
Finding variance_near(const LabContext& lab, double d, double predicted, const Samples& samples) {
  const double drawn =
      static_cast<double>(lab.integer("n")) * d * static_cast<double>(samples.size());
  return near(absl::StrCat("variance of the scores, d = ", d), predicted, samples,
              std::max(0.1, 8 / std::sqrt(drawn)));
}

// The mean of n² scores, over their deviation, is 1 / n by chance: every seed is within 8 of it.
Finding mean_near_zero(const LabContext& lab, const Row& row) {
  double farthest = 0;
  for (const double mean : row.of(&Measured::mean)) {
    farthest = std::max(farthest, std::abs(mean) / std::sqrt(row.d));
  }
  const double allowed = 8 / static_cast<double>(lab.integer("n"));
  return found(absl::StrCat("mean of the scores over √d, the seed farthest from 0, d = ", row.d),
               absl::StrCat("within ", format_number(allowed)), farthest, farthest <= allowed);
}

// The variance of q·k where elements are drawn otherwise, at the largest d.
Finding variance_of_other(const LabContext& lab, const char* what, double times, double shift) {
  const int64_t d = lab.integers("d").back();
  const Samples variances = over_seeds(lab, [&](uint64_t seed) {
    return variance_of(draw_products(seed, d, lab.integer("n"), times, shift));
  });
  return near(absl::StrCat("variance of the scores, ", what, ", d = ", d), static_cast<double>(d),
              variances, 0.1);
}

Section variance_section(const LabContext& lab, const std::vector<Row>& plain) {
  Section section = make_section("scaling.variance");
  for (const Row& row : plain) {
    section.add(mean_near_zero(lab, row));
    section.add(variance_near(lab, row.d, row.d, row.of(&Measured::variance)));
  }
  section.add(beyond(variance_of_other(lab, "all elements 0", 0, 0)));
  section.add(beyond(variance_of_other(lab, "elements of mean 1", 1, 1)));
  section.show(line_chart("Variance of the scores", log_axis("d"), log_axis("variance"),
                          {series_of("q·k", plain, &Measured::variance)}));
  return section;
}

LineChart chart_of(const char* title, const char* label, const std::vector<Row>& plain,
                   const std::vector<Row>& scaled, double Measured::*number) {
  return line_chart(
      title, log_axis("d"), label,
      {series_of("not divided", plain, number), series_of("divided by √d", scaled, number)});
}

Section saturation_section(const std::vector<Row>& plain) {
  const Row &first = plain.front(), &last = plain.back();
  return make_section("scaling.saturation",
                      {larger(absl::StrCat("largest weight at d = ", last.d, " and at ", first.d),
                              last.of(&Measured::largest), first.of(&Measured::largest)),
                       larger(absl::StrCat("entropy at d = ", first.d, " and at ", last.d),
                              first.of(&Measured::entropy), last.of(&Measured::entropy))});
}

Section steepness_section(const LabContext& lab, const std::vector<Row>& plain,
                          const std::vector<Row>& scaled) {
  Section section = make_section("scaling.steepness");
  const Row& last = scaled.back();
  const auto as_at_last = [&](const char* what, const Row& row, double Measured::*number) {
    return near(absl::StrCat(what, " at d = ", row.d, ", as at d = ", last.d),
                mean_of(last.of(number)), row.of(number), /*tolerance=*/0.25);
  };
  for (const Row& row : scaled) {
    section.add(variance_near(lab, row.d, 1, row.of(&Measured::variance)));
    if (&row == &last) continue;
    section.add(as_at_last("largest weight", row, &Measured::largest));
    section.add(as_at_last("entropy", row, &Measured::entropy));
    section.add(as_at_last("|dS| / |dP|", row, &Measured::passed_on));
  }
  section.figures = {
      chart_of("Largest weight of a row", "weight", plain, scaled, &Measured::largest),
      chart_of("Entropy of a row, in nats", "entropy", plain, scaled, &Measured::entropy)};
  return section;
}

Section gradient_section(const std::vector<Row>& plain, const std::vector<Row>& scaled) {
  constexpr double kLarge = 64;  // d from which on scores that are not divided are large
  Section section = make_section("scaling.gradient");
  for (size_t i = 0; i < plain.size(); ++i) {
    const double d = plain[i].d;
    if (d == 1 && plain.size() > 1) continue;  // there is nothing to divide by
    const auto more = [&](const char* what, double Measured::*number) {
      return larger(absl::StrCat(what, ", |dS| / |dP| at d = ", d, ", divided and not"),
                    scaled[i].of(number), plain[i].of(number));
    };
    const Finding middle = more("the row in the middle", &Measured::passed_on_by_median);
    const bool is_large = d >= kLarge || i + 1 == plain.size();
    section.add(is_large ? middle : beyond(middle));
    section.add(beyond(more("all rows", &Measured::passed_on)));
  }
  section.figures = {
      chart_of("|dS| / |dP|, all rows together", "share", plain, scaled, &Measured::passed_on),
      chart_of("|dS| / |dP|, the row in the middle", "share", plain, scaled,
               &Measured::passed_on_by_median)};
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<Row> plain = measure_all(lab, /*is_scaled=*/false),
                         scaled = measure_all(lab, /*is_scaled=*/!lab.is_control());
  return {variance_section(lab, plain), saturation_section(plain),
          steepness_section(lab, plain, scaled), gradient_section(plain, scaled)};
}

}  // namespace

Lab scaling_lab() { return make_lab("scaling", run); }

}  // namespace qkv
