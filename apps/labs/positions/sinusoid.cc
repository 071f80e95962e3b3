// The encoding of a position by sines and cosines: a shift is a rotation.
#include "apps/labs/kit/lab_kit.h"
#include "framework/nn/mixers/position.h"

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

HeatMap map_of(const Text& title, const Tensor& matrix, const Text& rows, const Text& columns) {
  HeatMap map = heat_map_of(title, matrix);
  map.row_axis = rows;
  map.column_axis = columns;
  return map;
}

Section formula_section(const Tensor& table) {
  const int64_t n = table.dim(0), d = table.dim(1);
  Samples numbers;
  for (int64_t t = 0; t < n; ++t) {
    for (int64_t c = 0; c < d; ++c) {
      const double exponent = static_cast<double>(c - c % 2) / static_cast<double>(d);
      const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
      numbers.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  const Tensor squares = sum(table * table, -1);
  return make_section("sinusoid.formula",
                      {same(say("the table, and the formula"),
                            largest_difference(table, constant_f64({n, d}, numbers))),
                       same(say("|e_t|², and D / 2, at every t"),
                            largest_of(squares - static_cast<double>(d) / 2))},
                      {map_of(say("The encoding e"), table, say("position"), say("numbers"))});
}

// M_k from e_k alone: each pair (sin ω k, cos ω k) is a rotation [cos, sin; -sin, cos].
Tensor shift_by(const Tensor& table, int64_t k) {
  const int64_t d = table.dim(1);
  const Samples e = row_of(table, k).to_vector();
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
  const int64_t n = table.dim(0);
  const Tensor shift = shift_by(table, 1);
  Section section =
      make_section("sinusoid.rotation", {},
                   {map_of("M_1", shift, say("of the position after it"), say("of a position"))});
  for (const int64_t k : {int64_t{1}, int64_t{2}, n / 2}) {
    section.add(same(say("M_k e_t, and e_{t+k}, at every t, k = {0}", k),
                     largest_error_of_shift(table, k)));
  }
  section.add(same(say("M_1 M_1ᵀ, and 1"),
                   largest_difference(products_of_rows(shift, shift), identity(table.dim(1)))));
  return section;
}

Section distance_section(const Tensor& table) {
  const int64_t n = table.dim(0);
  const Tensor products = products_of_rows(table, table);
  const Samples numbers = products.to_vector();
  const Series series = numbered_series("e_t · e_{t+k}", row_of(products, 0).to_vector(), 0);
  double spread = 0;
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t t = 0; t + k < n; ++t) {
      const double later = numbers[static_cast<size_t>(t * n + t + k)];
      spread = std::max(spread, std::abs(later - numbers[static_cast<size_t>(k)]));
    }
  }
  const double here = series.y[0], next = series.y[1];
  return make_section("sinusoid.distance",
                      {same(say("e_t · e_{t+k} at every t, for one k"), spread),
                       above(say("e_t · e_t, less e_t · e_{t+1}"), 0, here - next)},
                      {map_of("e_t · e_u", products, say("position"), say("position")),
                       line_chart(say("Product of two encodings"), "k", say("product"), {series})});
}

std::vector<Section> run(const LabContext& lab) {
  const Tensor table = make_table(lab);
  return {formula_section(table), rotation_section(table), distance_section(table)};
}

}  // namespace

Lab sinusoid_lab() { return make_lab("sinusoid", run); }

}  // namespace qkv
