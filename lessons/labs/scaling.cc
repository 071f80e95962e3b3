// Why the scores of attention are divided by the root of d_k.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

using Samples = std::vector<double>;

// Of n keys and n queries of d numbers, all independent, with variance 1.
struct Measured {
  double mean = 0, variance = 0;  // of the scores
  double largest = 0;             // weight of a row, the mean over the rows
  double entropy = 0;             // of a row, in nats
  double passed_on = 0;           // |dS| / |dP|, of all rows together
  double of_median = 0;           // |dS| / |dP|, of the row in the middle
};

// |dS| / |dP| of each row.
std::vector<double> shares_of_rows(const Tensor& back, const Tensor& pushed) {
  return sqrt(sum(back * back, -1) / sum(pushed * pushed, -1)).to_vector();
}

double median_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + std::ssize(numbers) / 2;
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

// Q Kᵀ of elements with the mean `shift` and the deviation `times`.   [n, n]
Tensor draw_products(uint64_t seed, int64_t d, int64_t n, double times, double shift) {
  const RandomStream random(seed);
  const Tensor queries = random_normal(random.derive("queries"), {n, d}) * times + shift;
  const Tensor keys = random_normal(random.derive("keys"), {n, d}) * times + shift;
  return matmul(queries, keys, {.transpose_b = true});
}

double variance_of(const Tensor& x) { return std::pow(deviation_of(x.to_vector()), 2); }

Measured measure(uint64_t seed, int64_t d, int64_t n, double factor) {
  const Tensor scores = as_parameter(draw_products(seed, d, n, 1, 0) * factor);  // S = factor Q Kᵀ
  const Tensor weights = softmax(scores);                                        // P
  const Tensor pushed = random_normal(RandomStream(seed).derive("dP"), weights.shape());
  const Tensor back = backward(sum(mul(weights, pushed)))[scores];
  Measured measured;
  measured.mean = mean(scores).item();
  measured.variance = variance_of(scores);
  measured.largest = mean(max(weights, -1)).item();
  measured.entropy = -sum(mul(weights, log(weights))).item() / static_cast<double>(n);
  measured.passed_on = size_of(back) / size_of(pushed);
  measured.of_median = median_of(shares_of_rows(back, pushed));
  return measured;
}

// A number of each d, over the seeds.
struct Row {
  double d = 0;
  Samples mean = {}, variance = {}, largest = {}, entropy = {}, passed_on = {}, of_median = {};
};

Row measure_all(const LabContext& lab, int64_t d, bool is_scaled) {
  const double factor = is_scaled ? 1 / std::sqrt(static_cast<double>(d)) : 1;
  Row row = {.d = static_cast<double>(d)};
  for (const uint64_t seed : lab.seeds()) {
    const Measured measured = measure(seed, d, lab.integer("n"), factor);
    row.mean.push_back(measured.mean);
    row.variance.push_back(measured.variance);
    row.largest.push_back(measured.largest);
    row.entropy.push_back(measured.entropy);
    row.passed_on.push_back(measured.passed_on);
    row.of_median.push_back(measured.of_median);
  }
  return row;
}

Series series_of(const std::string& name, const std::vector<Row>& rows, Samples Row::*samples) {
  Series series = {.name = name, .x = {}, .y = {}, .spread = {}};
  for (const Row& row : rows) {
    series.x.push_back(row.d);
    series.y.push_back(mean_of(row.*samples));
    series.spread.push_back(deviation_of(row.*samples));
  }
  return series;
}

// Of n queries and n keys the variance of the scores is known to about a share of 2 / √(n d): four
// times that, over the seeds, and a tenth at the least.
Finding variance_near(const LabContext& lab, double d, double predicted, const Samples& samples) {
  const double drawn =
      static_cast<double>(lab.integer("n")) * d * static_cast<double>(samples.size());
  return near(absl::StrCat("variance of the scores, d = ", d), predicted, samples,
              std::max(0.1, 8 / std::sqrt(drawn)));
}

// The mean of n² scores, over their deviation, is 1 / n by chance: every seed is within 8 of it.
Finding mean_near_zero(const LabContext& lab, const Row& row) {
  double farthest = 0;
  for (const double mean : row.mean) {
    farthest = std::max(farthest, std::abs(mean) / std::sqrt(row.d));
  }
  const double allowed = 8 / static_cast<double>(lab.integer("n"));
  return found(absl::StrCat("mean of the scores over √d, the seed farthest from 0, d = ", row.d),
               absl::StrCat("within ", format_number(allowed)), format_number(farthest),
               farthest <= allowed);
}

// The variance of q·k where elements are drawn otherwise, at the largest d.
Finding variance_of_other(const LabContext& lab, const char* what, double times, double shift) {
  const int64_t d = lab.integers("d").back();
  Samples variances;
  for (const uint64_t seed : lab.seeds()) {
    variances.push_back(variance_of(draw_products(seed, d, lab.integer("n"), times, shift)));
  }
  return near(absl::StrCat("variance of the scores, ", what, ", d = ", d), static_cast<double>(d),
              variances, 0.1);
}

Section variance_section(const LabContext& lab, const std::vector<Row>& plain) {
  Section section = {
      .claims = {{"A37", "假设Q,K里的元素全为0,方差为1,那么A^T=Q^TK中元素的均值为0,方差为d。",
                  "Let the elements of Q and K be all 0, with variance 1: then those of A = Q Kᵀ "
                  "have mean 0 and variance d."}},
      .formula = "Var(q·k) = Σ Var(q_i) Var(k_i) = d",
      .prediction =
          "Independent elements of mean 0 and variance 1 give scores of mean 0 and variance d.",
      .condition = "the mean of the elements is 0",
      .correction =
          "Not the elements are 0 (全为0), their mean is (均值为0): elements that are all 0 give "
          "scores that are all 0, and with another mean the variance of the scores is not d."};
  for (const Row& row : plain) {
    section.findings.push_back(mean_near_zero(lab, row));
    section.findings.push_back(variance_near(lab, row.d, row.d, row.variance));
  }
  section.findings.push_back(beyond(variance_of_other(lab, "all elements 0", 0, 0)));
  section.findings.push_back(beyond(variance_of_other(lab, "elements of mean 1", 1, 1)));
  section.figures.push_back(LineChart{.title = "Variance of the scores",
                                      .x_label = "d",
                                      .y_label = "variance",
                                      .log_x = true,
                                      .log_y = true,
                                      .series = {series_of("q·k", plain, &Row::variance)}});
  return section;
}

LineChart chart_of(const char* title, const char* label, const std::vector<Row>& plain,
                   const std::vector<Row>& scaled, Samples Row::*samples) {
  return {.title = title,
          .x_label = "d",
          .y_label = label,
          .log_x = true,
          .series = {series_of("not divided", plain, samples),
                     series_of("divided by √d", scaled, samples)}};
}

Section saturation_section(const std::vector<Row>& plain) {
  const Row &first = plain.front(), &last = plain.back();
  return {.claims = {{"A37", "如果A中的元素方差很大,那么Softmax(A)的分布会趋于陡峭",
                      "Where the elements of A have a large variance, softmax(A) grows steep."},
                     {"C121", "后续的Softmax函数对较大或较小的输入非常敏感(容易映射到1或0)",
                      "Softmax is sensitive to large or small inputs: it easily maps them to 1 or "
                      "0."}},
          .formula = "P = softmax(Q Kᵀ)",
          .prediction = "As d grows the largest weight of a row goes to 1, its entropy to 0.",
          .findings = {larger(absl::StrCat("largest weight at d = ", last.d, " and at ", first.d),
                              last.largest, first.largest),
                       larger(absl::StrCat("entropy at d = ", first.d, " and at ", last.d),
                              first.entropy, last.entropy)}};
}

Section steepness_section(const LabContext& lab, const std::vector<Row>& plain,
                          const std::vector<Row>& scaled) {
  Section section = {
      .claims = {{"A38",
                  "因此A中每一个元素除以√d_k后,方差又变为1。这使得Softmax(A)的分布陡峭程度与d解耦,",
                  "Divided by √d_k the elements of A have variance 1 again. How steep softmax(A) "
                  "is no longer depends on d,"}},
      .formula = "S = Q Kᵀ / √d_k",
      .prediction =
          "This half of the sentence is about one layer at the start: divided by √d, the variance "
          "is 1, and largest weight, entropy, and the share of the gradient that softmax passes "
          "back are within a quarter of what they are at the largest d."};
  const Row& last = scaled.back();
  const auto as_at_last = [&](const char* what, const Row& row, Samples Row::*samples) {
    return near(absl::StrCat(what, " at d = ", row.d, ", as at d = ", last.d),
                mean_of(last.*samples), row.*samples, /*tolerance=*/0.25);
  };
  for (const Row& row : scaled) {
    section.findings.push_back(variance_near(lab, row.d, 1, row.variance));
    if (&row == &last) continue;
    section.findings.push_back(as_at_last("largest weight", row, &Row::largest));
    section.findings.push_back(as_at_last("entropy", row, &Row::entropy));
    section.findings.push_back(as_at_last("|dS| / |dP|", row, &Row::passed_on));
  }
  section.figures = {
      chart_of("Largest weight of a row", "weight", plain, scaled, &Row::largest),
      chart_of("Entropy of a row, in nats", "entropy", plain, scaled, &Row::entropy)};
  return section;
}

Section gradient_section(const std::vector<Row>& plain, const std::vector<Row>& scaled) {
  constexpr double kLarge = 64;  // d from which on scores that are not divided are large
  Section section = {
      .claims = {{"A38", "从而使得训练过程中梯度保持稳定。",
                  "and so gradients stay stable in training."},
                 {"B56", "避免出现极端情况，也就是梯度爆炸、梯度弥散这些",
                  "It avoids extremes: gradients that explode or vanish."}},
      .formula = "dS = P ∘ (dP - rowsum(dP ∘ P))",
      .prediction =
          "This half is about what is passed back at the start (lab scaling-train has the "
          "training, lab vanish the depth). If dividing is what saves the gradient from "
          "vanishing, softmax passes back more of it where the scores are divided.",
      .condition =
          "d is large (64 or more), and the row in the middle counts, not all rows together",
      .correction =
          "Not divided, the gradient does not vanish as a whole: up to d = 64 softmax passes back "
          "more of it than divided, at d = 256 no less. But it goes to the rows that are "
          "undecided: "
          "the row in the middle gets about half at d = 64, and at d = 1,024, where it has chosen "
          "one key, less than a hundredth. Divided, all rows get about the same, at every d."};
  for (size_t i = 0; i < plain.size(); ++i) {
    const double d = plain[i].d;
    if (d == 1 && plain.size() > 1) continue;  // there is nothing to divide by
    const auto more = [&](const char* what, Samples Row::*samples) {
      return larger(absl::StrCat(what, ", |dS| / |dP| at d = ", d, ", divided and not"),
                    scaled[i].*samples, plain[i].*samples);
    };
    const Finding middle = more("the row in the middle", &Row::of_median);
    const bool is_large = d >= kLarge || i + 1 == plain.size();
    section.findings.push_back(is_large ? middle : beyond(middle));
    section.findings.push_back(beyond(more("all rows", &Row::passed_on)));
  }
  section.figures = {
      chart_of("|dS| / |dP|, all rows together", "share", plain, scaled, &Row::passed_on),
      chart_of("|dS| / |dP|, the row in the middle", "share", plain, scaled, &Row::of_median)};
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  std::vector<Row> plain, scaled;
  for (const int64_t d : lab.integers("d")) {
    plain.push_back(measure_all(lab, d, /*is_scaled=*/false));
    scaled.push_back(measure_all(lab, d, /*is_scaled=*/!lab.is_control()));
  }
  return {variance_section(lab, plain), saturation_section(plain),
          steepness_section(lab, plain, scaled), gradient_section(plain, scaled)};
}

}  // namespace

Lab scaling_lab() {
  return {.name = "scaling",
          .question = "Why are the scores divided by the root of d_k?",
          .control = "the scores are not divided where they are said to be",
          .duration = "1 s",
          .options = {{"d", "1,4,16,64,256,1024", "numbers of a query", 1, 4096, Numbers::kWhole, 1,
                       kLongestList},
                      {"n", "64", "queries, and keys", 2, 128},
                      seeds_option("10", "how often it is measured")},
          .run = run};
}

}  // namespace qkv
