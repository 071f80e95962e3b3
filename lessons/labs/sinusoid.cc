// The encoding of a position by sines and cosines: a shift is a rotation.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/nn/position.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

// e_t of t = 0 … n - 1, [n, D]; the control has e of t² there.
Tensor make_table(const LabContext& lab) {
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  if (!lab.is_control()) return sinusoidal_positions(n, d, DType::f64);
  std::vector<int64_t> squares;
  for (int64_t t = 0; t < n; ++t) squares.push_back(t * t);
  return embedding(sinusoidal_positions(n * n, d, DType::f64), Tensor(Array::of({n}, squares)));
}

Tensor row_of(const Tensor& table, int64_t t) { return slice(table, 0, t, 1); }

Section formula_section(const Tensor& table) {
  const int64_t n = table.dim(0), d = table.dim(1);
  std::vector<double> numbers;
  for (int64_t t = 0; t < n; ++t) {
    for (int64_t c = 0; c < d; ++c) {
      const double exponent = static_cast<double>(c - c % 2) / static_cast<double>(d);
      const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
      numbers.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  const Tensor squares = sum(table * table, -1);
  return {.claims = {{"C175", "e_{t,2i} = sin(t/10000^{2i/D})", "The even numbers are sines."},
                     {"C177", "e_{t,2i+1} = cos(t/10000^{2i/D})", "The odd ones are cosines."},
                     {"C189", "上述位置编码也被称为Sinusoidal位置编码，其编码矩阵可视化如下：",
                      "This encoding is called sinusoidal; a picture of its matrix:"}},
          .formula = "e_t = (sin ω_0 t, cos ω_0 t, sin ω_1 t, …),   ω_i = 10000^(-2i/D)",
          .prediction =
              "The first pair turns fastest, the last hardly at all; every position is a vector "
              "of the same length, √(D/2).",
          .findings = {same("the table and the formula",
                            largest_difference(table, constant_f64({n, d}, numbers))),
                       same("|e_t|² and D / 2, at every t",
                            largest_of(squares - static_cast<double>(d) / 2))},
          .figures = {heat_map_of("e, positions × numbers", table)}};
}

// M_k from e_k alone: each pair (sin ω k, cos ω k) is a rotation [cos, sin; -sin, cos].
Tensor shift_by(const Tensor& table, int64_t k) {
  const int64_t d = table.dim(1);
  const std::vector<double> e = row_of(table, k).to_vector();
  std::vector<double> numbers(static_cast<size_t>(d * d), 0.0);
  for (int64_t c = 0; c < d; c += 2) {
    const double s = e[static_cast<size_t>(c)], cosine = e[static_cast<size_t>(c + 1)];
    numbers[static_cast<size_t>(c * d + c)] = cosine;
    numbers[static_cast<size_t>(c * d + c + 1)] = s;
    numbers[static_cast<size_t>((c + 1) * d + c)] = -s;
    numbers[static_cast<size_t>((c + 1) * d + c + 1)] = cosine;
  }
  return constant_f64({d, d}, numbers);
}

// M_k e_t and e_{t+k}, for all t.
double largest_error_of_shift(const Tensor& table, int64_t k) {
  const int64_t left = table.dim(0) - k;
  const Tensor moved = matmul(slice(table, 0, 0, left), shift_by(table, k), {.transpose_b = true});
  return largest_difference(moved, slice(table, 0, k, left));
}

Section rotation_section(const Tensor& table) {
  const int64_t n = table.dim(0), d = table.dim(1);
  std::vector<double> diagonal(static_cast<size_t>(d * d), 0.0);
  for (int64_t c = 0; c < d; ++c) diagonal[static_cast<size_t>(c * d + c)] = 1;
  const Tensor shift = shift_by(table, 1);
  Section section = {
      .claims = {{"C183", "sin(α+β)=sin(α)cos(β)+cos(α)sin(β)", "The sine of a sum."},
                 {"C185", "cos(α+β)=cos(α)cos(β)-sin(α)sin(β)", "The cosine of a sum."},
                 {"C187", "因此位置α+β处的编码很容易被位置α和位置β处的编码表示。",
                  "So the encoding of position α + β is easily written with those of α and of β."}},
      .formula = "e_{t+k} = M_k e_t,   M_k = blocks [cos ω_i k, sin ω_i k; -sin ω_i k, cos ω_i k]",
      .prediction = "A shift by k is one matrix, made of e_k alone, for every t: a rotation.",
      .findings = {},
      .figures = {heat_map_of("M_1", shift)}};
  for (const int64_t k : {int64_t{1}, int64_t{2}, n / 2}) {
    section.findings.push_back(same(absl::StrCat("M_k e_t and e_{t+k} at every t, k = ", k),
                                    largest_error_of_shift(table, k)));
  }
  section.findings.push_back(
      same("M_1 M_1ᵀ and 1", largest_difference(matmul(shift, shift, {.transpose_b = true}),
                                                constant_f64({d, d}, diagonal))));
  return section;
}

Section distance_section(const Tensor& table) {
  const int64_t n = table.dim(0);
  const Tensor products = matmul(table, table, {.transpose_b = true});
  const std::vector<double> numbers = products.to_vector();
  Series series = {.name = "e_t · e_{t+k}", .x = {}, .y = {}};
  double spread = 0;
  for (int64_t k = 0; k < n; ++k) {
    const double first = numbers[static_cast<size_t>(k)];
    series.x.push_back(static_cast<double>(k));
    series.y.push_back(first);
    for (int64_t t = 0; t + k < n; ++t) {
      const double later = numbers[static_cast<size_t>(t * n + t + k)];
      spread = std::max(spread, std::abs(later - first));
    }
  }
  const double here = series.y[0], next = series.y[1];
  return {
      .claims = {{"C187", "因此位置α+β处的编码很容易被位置α和位置β处的编码表示。",
                  "So the encoding of position α + β is easily written with those of α and "
                  "of β."}},
      .formula = "e_t · e_{t+k} = Σ_i cos ω_i k",
      .prediction =
          "The rotation is in a section of its own; what is decided here is what comes of it. A "
          "product of two encodings knows how far apart they are, and nothing else: not where, and "
          "not which of them comes first.",
      .findings = {same("e_t · e_{t+k} at every t, at one k", spread),
                   found("e_t · e_t and e_t · e_{t+1}", "the first is larger",
                         absl::StrCat(format_number(here), " and ", format_number(next)),
                         here > next)},
      .figures = {heat_map_of("e_t · e_u", products), LineChart{.title = "Product of two encodings",
                                                                .x_label = "k",
                                                                .y_label = "product",
                                                                .series = {series}}}};
}

std::vector<Section> run(const LabContext& lab) {
  const Tensor table = make_table(lab);
  return {formula_section(table), rotation_section(table), distance_section(table)};
}

}  // namespace

Lab sinusoid_lab() {
  return {.name = "sinusoid",
          .question = "Why sines and cosines: what is a shift?",
          .control = "position t is encoded by t², which no rotation shifts",
          .duration = "1 s",
          .options = {{"n", "16", "positions", 4, 128},
                      {"d", "8", "numbers of an encoding", 2, 64, Numbers::kMultiples}},
          .run = run};
}

}  // namespace qkv
