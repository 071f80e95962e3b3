// What softmax makes of scores, and of the gradients that come back.
#include <algorithm>
#include <cmath>

#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

// The sum of each row has to be there; the control leaves the division out.
struct Rule {
  bool divides = true;

  Tensor operator()(const Tensor& scores) const { return divides ? softmax(scores) : exp(scores); }
};

double smallest_of(const Tensor& x) {
  const std::vector<double> numbers = x.to_vector();
  return *std::ranges::min_element(numbers);
}

Section sums_section(const Rule& rule, const Tensor& scores) {
  const Tensor weights = rule(scores);
  const Tensor divided = exp(scores) / sum(exp(scores), -1, /*keep_axis=*/true);
  const double smallest = smallest_of(weights);
  return {
      .claims = {{"A27", "Softmax(z_i)=e^{z_i}/∑^C_{c=1}e^{z_c}", "The formula of softmax."},
                 {"A28", "归一化。", "What it is for: to normalize."},
                 {"A29", "也就是说通过Softmax操作后,这些数字的和为1了。",
                  "After the softmax the sum of these numbers is 1."},
                 {"B35", "做一层 softmax(s_1,s_2,⋯,s_n) 就可以得到概率(a_1,a_2,⋯,a_n)",
                  "A softmax of the similarities gives probabilities."},
                 {"B58", "然后做 Softmax 得到概率", "Then softmax makes probabilities."}},
      .formula = "p_i = e^z_i / Σ_c e^z_c",
      .prediction = "No weight is below 0, each row sums to 1, whatever the scores were.",
      .findings = {same("softmax and its formula", largest_difference(weights, divided)),
                   same("sums of the rows and 1", largest_of(sum(weights, -1) - 1.0)),
                   found("smallest weight", "not below 0", format_number(smallest), smallest >= 0)},
      .figures = {heat_map_of("Scores S", scores), heat_map_of("Weights P", weights)}};
}

Section shift_section(const Rule& rule, const Tensor& scores) {
  const Tensor shifted = scores - max(scores, -1, /*keep_axis=*/true);
  const Tensor large = scores + 1000.0;
  const Tensor overflowing = sum(exp(large));
  return {
      .claims = {{"A27", "Softmax(z_i)=e^{z_i}/∑^C_{c=1}e^{z_c}", "The formula of softmax."}},
      .formula = "softmax(z) = softmax(z - c)",
      .prediction =
          "Only differences of scores count: the largest may be subtracted first, and then "
          "no exponential can overflow.",
      .findings = {same("weights before and after the largest is subtracted",
                        largest_difference(rule(scores), rule(shifted))),
                   same("weights of scores that are 1000 larger",
                        largest_difference(rule(scores), rule(large))),
                   found("e^z of those scores", "no finite number",
                         format_number(overflowing.item()), !std::isfinite(overflowing.item()))}};
}

// dp_i/dz_j of one row, by backward: row i is the gradient of p_i.
Tensor jacobian_of(const Rule& rule, const Tensor& row) {
  const Tensor z = as_parameter(row);  // [n]
  const Tensor p = rule(z);
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < z.dim(0); ++i) {
    rows.push_back(backward(sum(slice(p, 0, i, 1)), {.keep_graph = true})[z]);
  }
  return stack(rows, 0);
}

Section gradient_section(const Rule& rule, const Tensor& numbers, const Tensor& pushed) {
  const Tensor row = reshape(slice(numbers, 0, 0, 1), {numbers.dim(1)});
  const Tensor p = rule(row).detached();
  const Tensor column = reshape(p, {p.dim(0), 1});
  std::vector<Tensor> diagonal;
  for (int64_t i = 0; i < p.dim(0); ++i) {
    diagonal.push_back(pad(slice(p, 0, i, 1), 0, i, p.dim(0)));
  }
  const Tensor jacobian = jacobian_of(rule, row);
  const Tensor formula = stack(diagonal, 0) - matmul(column, column, {.transpose_b = true});

  const Tensor scores = as_parameter(numbers);
  const Tensor weights = rule(scores);
  const Tensor back = backward(weights, {.cotangent = pushed, .keep_graph = true})[scores];
  const Tensor dot = sum(pushed * weights, -1, /*keep_axis=*/true);
  return {.claims = {{"A27", "Softmax(z_i)=e^{z_i}/∑^C_{c=1}e^{z_c}", "The formula of softmax."},
                     {"A29", "也就是说通过Softmax操作后,这些数字的和为1了。",
                      "After the softmax the sum of these numbers is 1."}},
          .formula = "dp/dz = diag(p) - p pᵀ,   dS = P ∘ (dP - rowsum(dP ∘ P))",
          .prediction =
              "As the sum of a row stays 1, what one weight gains the others lose: each row of dS "
              "sums to 0.",
          .findings = {same("Jacobian of a row and diag(p) - p pᵀ",
                            largest_difference(jacobian, formula)),
                       same("dS and P ∘ (dP - rowsum(dP ∘ P))",
                            largest_difference(back, weights * (pushed - dot))),
                       same("sums of the rows of dS and 0", largest_of(sum(back, -1)))},
          .figures = {heat_map_of("Jacobian of row 0", jacobian), heat_map_of("dP", pushed),
                      heat_map_of("dS", back)}};
}

// |dS| / |dP| of the row in the middle: a row whose two largest scores are about the same passes on
// more than others however large they are.
double passed_on(const Rule& rule, const Tensor& numbers, const Tensor& pushed) {
  const Tensor scores = as_parameter(numbers);
  const Tensor back = backward(rule(scores), {.cotangent = pushed})[scores];
  std::vector<double> ratios = sqrt(sum(back * back, -1) / sum(pushed * pushed, -1)).to_vector();
  const auto middle = ratios.begin() + std::ssize(ratios) / 2;
  std::ranges::nth_element(ratios, middle);
  return *middle;
}

Section saturation_section(const Rule& rule, const RandomStream& random, int64_t n) {
  constexpr int64_t kRows = 200;
  const Tensor scores = random_normal(random.derive("S of many"), {kRows, n});
  const Tensor pushed = random_normal(random.derive("dP of many"), {kRows, n});
  Series series = {.name = "|dS| / |dP|", .x = {}, .y = {}};
  for (const double factor : {1.0, 4.0, 16.0, 64.0, 256.0}) {
    series.x.push_back(factor);
    series.y.push_back(passed_on(rule, scores * factor, pushed));
  }
  return {.claims = {{"C121", "后续的Softmax函数对较大或较小的输入非常敏感(容易映射到1或0)",
                      "Softmax is sensitive to large or small inputs: it easily maps them to 1 "
                      "or 0."}},
          .formula = "p → 0 or 1 makes diag(p) - p pᵀ → 0",
          .prediction = "Scores that are far apart pass no gradient back.",
          .findings = {found(
              "|dS| / |dP| of most rows, scores times 1 and times 256", "falls to a hundredth",
              format_number(series.y.front()) + " and " + format_number(series.y.back()),
              series.y.back() < series.y.front() / 100)},
          .figures = {LineChart{.title = "What softmax passes back",
                                .x_label = "scores times",
                                .y_label = "|dS| / |dP|",
                                .log_x = true,
                                .series = {series}}}};
}

// C writes words as columns: A = Kᵀ Q / √D_k, softmax by column, B = V Â.
Section columns_section(const LabContext& lab) {
  const int64_t n = lab.integer("n"), d = 4;
  const RandomStream random(lab.integer("seed"));
  const Tensor q = random_normal(random.derive("q"), {n, d});
  const Tensor k = random_normal(random.derive("k"), {n, d});
  const Tensor v = random_normal(random.derive("v"), {n, d});
  const double factor = 1 / std::sqrt(static_cast<double>(d));
  const Tensor rows = matmul(softmax(matmul(q, k, {.transpose_b = true}) * factor), v);
  const auto turned = [](const Tensor& x) { return transpose(x, 0, 1); };
  const Tensor a = matmul(turned(k), turned(q), {.transpose_a = true}) * factor;  // [keys, queries]
  const Tensor by_column = lab.is_control() ? softmax(a) : turned(softmax(turned(a)));
  const Tensor b = matmul(turned(v), by_column);
  return {.claims = {{"C115", "A = K^TQ/√D_k", "The scores, of words that are columns."},
                     {"C121", "Softmax函数按列运算。", "Softmax works by columns."},
                     {"C130", "B = VÂ", "The weighted sum, of words that are columns."}},
          .formula = "B = V softmax(Kᵀ Q / √D_k) = (softmax(Qᵀ K / √D_k) Vᵀ)ᵀ",
          .prediction =
              "Words as columns (note C) or as rows (notes A and B): the transpose of the same "
              "numbers. The softmax goes over the keys in both.",
          .findings = {same("by columns and by rows", largest_difference(turned(b), rows)),
                       same("sums of the columns of Â and 1", largest_of(sum(by_column, 0) - 1.0))},
          .figures = {heat_map_of("Â, keys × queries", by_column)}};
}

std::vector<Section> run(const LabContext& lab) {
  const Rule rule = {.divides = !lab.is_control()};
  const RandomStream random(lab.integer("seed"));
  const int64_t n = lab.integer("n");
  const Tensor scores = random_normal(random.derive("S"), {n, n});
  const Tensor pushed = random_normal(random.derive("dP"), {n, n});
  return {sums_section(rule, scores), shift_section(rule, scores),
          gradient_section(rule, scores, pushed), saturation_section(rule, random, n),
          columns_section(lab)};
}

}  // namespace

Lab softmax_lab() {
  return {.name = "softmax",
          .question = "Why softmax, and what does it do?",
          .control = "e^z is not divided by its sum, and what goes by columns goes by rows",
          .duration = "1 s",
          .options = {{"n", "6", "scores of a row", 2, 64}, seed_option("of the scores")},
          .run = run};
}

}  // namespace qkv
