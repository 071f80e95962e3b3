// Why the scores of attention are divided by the root of d_k.
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

// Of n keys and n queries of d numbers, all independent, with mean 0 and variance 1.
struct Measured {
  double variance = 0;   // of the scores
  double largest = 0;    // weight of a row, the mean over the rows
  double entropy = 0;    // of a row, in nats
  double passed_on = 0;  // |dS| / |dP|
};

Measured measure(uint64_t seed, int64_t d, int64_t n, double factor) {
  const RandomStream random(seed);
  const Tensor queries = random_normal(random.derive("queries"), {n, d});
  const Tensor keys = random_normal(random.derive("keys"), {n, d});
  const Tensor products = matmul(queries, keys, {.transpose_b = true});       // [n, n]
  const Tensor scores = as_parameter(scale(products, factor));                // S = factor Q Kᵀ
  const Tensor weights = softmax(scores);                                     // P
  const Tensor pushed = random_normal(random.derive("dP"), weights.shape());  // any dL/dP
  const Gradients gradients = backward(sum(mul(weights, pushed)));
  Measured measured;
  measured.variance = std::pow(deviation_of(scores.to_vector()), 2);
  measured.largest = mean(max(weights, -1)).item();
  measured.entropy = -sum(mul(weights, log(weights))).item() / static_cast<double>(n);
  measured.passed_on = size_of(gradients[scores]) / size_of(pushed);
  return measured;
}

// A number of each d, over the seeds.
struct Row {
  double d = 0;
  Samples variance = {}, largest = {}, entropy = {}, passed_on = {};
};

Row measure_all(const LabContext& lab, int64_t d, bool is_scaled) {
  const double factor = is_scaled ? 1 / std::sqrt(static_cast<double>(d)) : 1;
  Row row = {.d = static_cast<double>(d)};
  for (const uint64_t seed : lab.seeds()) {
    const Measured measured = measure(seed, d, lab.integer("n"), factor);
    row.variance.push_back(measured.variance);
    row.largest.push_back(measured.largest);
    row.entropy.push_back(measured.entropy);
    row.passed_on.push_back(measured.passed_on);
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

Section variance_section(const std::vector<Row>& plain) {
  Section section = {
      .claims = {{"A37", "假设Q,K里的元素全为0,方差为1,那么A^T=Q^TK中元素的均值为0,方差为d。",
                  "Let the elements of Q and K be all 0, with variance 1: then those of A = Q Kᵀ "
                  "have mean 0 and variance d."}},
      .formula = "Var(q·k) = Σ Var(q_i) Var(k_i) = d",
      .prediction = "Independent elements of mean 0 and variance 1 give scores of variance d.",
      .condition = "the mean of the elements is 0",
      .correction = "Not the elements are 0 (全为0), their mean is (均值为0)."};
  for (const Row& row : plain) {
    section.findings.push_back(
        near(absl::StrCat("variance of q·k, d = ", row.d), row.d, row.variance, /*tolerance=*/0.1));
  }
  section.findings.push_back(beyond(exact("variance where all elements are 0, d = 64", 64, 0)));
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

Section gradient_section(const std::vector<Row>& plain, const std::vector<Row>& scaled) {
  Section section = {
      .claims =
          {{"A38",
            "A中每一个元素除以√d_k后,方差又变为1。这使得Softmax(A)的分布陡峭程度与d解耦,"
            "从而使得训练过程中梯度保持稳定。",
            "Divided by √d_k the elements of A have variance 1 again. How steep softmax(A) is "
            "no longer depends on d, and gradients stay stable in training."},
           {"B56", "避免出现极端情况，也就是梯度爆炸、梯度弥散这些",
            "It avoids extremes: gradients that explode or vanish."}},
      .formula = "S = Q Kᵀ / √d_k,   dS = P ∘ (dP - rowsum(dP ∘ P))",
      .prediction =
          "Divided by √d, variance, largest weight and the share of the gradient that "
          "softmax passes back are the same at every d."};
  const Row& first = scaled.front();
  for (const Row& row : scaled) {
    section.findings.push_back(near(absl::StrCat("variance of the scores, d = ", row.d), 1,
                                    row.variance, /*tolerance=*/0.1));
    section.findings.push_back(
        near(absl::StrCat("|dS| / |dP| at d = ", row.d, ", as at d = ", first.d),
             mean_of(first.passed_on), row.passed_on, /*tolerance=*/0.1));
  }
  section.figures = {
      chart_of("Largest weight of a row", "weight", plain, scaled, &Row::largest),
      chart_of("Entropy of a row, in nats", "entropy", plain, scaled, &Row::entropy),
      chart_of("|dS| / |dP|: what softmax passes back", "share", plain, scaled, &Row::passed_on)};
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  std::vector<Row> plain, scaled;
  for (const int64_t d : lab.integers("d")) {
    plain.push_back(measure_all(lab, d, /*is_scaled=*/false));
    scaled.push_back(measure_all(lab, d, /*is_scaled=*/!lab.is_control()));
  }
  return {variance_section(plain), saturation_section(plain), gradient_section(plain, scaled)};
}

}  // namespace

Lab scaling_lab() {
  return {.name = "scaling",
          .question = "Why are the scores divided by the root of d_k?",
          .control = "the scores are not divided where they are said to be",
          .duration = "1 s",
          .options = {{"d", "1,4,16,64,256,1024", "numbers of a query"},
                      {"n", "64", "queries, and keys"},
                      {"seeds", "10", "how often it is measured"}},
          .run = run};
}

}  // namespace qkv
