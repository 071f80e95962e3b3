#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/labs/kit/lab.h"
#include "apps/labs/kit/lab_texts.h"
#include "apps/labs/kit/numbers.h"
#include "apps/labs/labs.h"
#include "apps/report/figure.h"
#include "apps/report/statistics.h"
#include "framework/autograd/backward.h"
#include "framework/core/each_of.h"
#include "framework/ops/ops.h"

// The parts of every lab; and the common measurements of labs, with each seed and in each of
// several settings, and their curves and tables.
namespace qkv {

using Samples = std::vector<double>;

double least_of(const Samples& samples);
double most_of(const Samples& samples);
Samples log10_of(Samples samples);

// f(seed) of each seed of the lab: numbers, or whatever is measured.
template <class F>
auto over_seeds(const LabContext& lab, const F& f) {
  std::vector<std::decay_t<decltype(f(uint64_t{}))>> all;
  for (const uint64_t seed : lab.seeds()) all.push_back(f(seed));
  return all;
}

// One number of each: values_of(measured, &Measured::loss).
template <class T, class Of>
Samples values_of(const std::vector<T>& all, const Of& of) {
  Samples values;
  for (const T& each : all) values.push_back(static_cast<double>(std::invoke(of, each)));
  return values;
}

// Points (x, y) for each of `all`; y is a number, or samples: their mean and its spread.
template <class T, class X, class Y>
Series series_by(Text name, const std::vector<T>& all, const X& x, const Y& y) {
  Series series = {.name = std::move(name)};
  for (const T& each : all) {
    series.x.push_back(static_cast<double>(std::invoke(x, each)));
    const auto measured = std::invoke(y, each);
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(measured)>>) {
      series.y.push_back(static_cast<double>(measured));
    } else {
      series.y.push_back(mean_of(measured));
      series.spread.push_back(deviation_of(measured));
    }
  }
  return series;
}

// y over first, first + 1, …: losses by step, gradients by layer.
Series numbered_series(Text name, std::vector<double> y, int64_t first = 1);

// An axis, by its label.
struct AxisLabel {
  template <class Label>
  AxisLabel(const Label& label, bool is_log = false)  // NOLINT(google-explicit-constructor)
      : text(label), is_logarithmic(is_log) {}

  Text text;
  bool is_logarithmic;
};
inline AxisLabel log_axis(const Text& label) { return {label, true}; }

LineChart line_chart(Text title, AxisLabel x, AxisLabel y, std::vector<Series> series = {});

// The loss of each step, a series for each model.
LineChart chart_of_losses(std::vector<Series> series);

// A row for each of `all`.
template <class T, class Row>
Table table_by(Text title, std::vector<Text> header, const std::vector<T>& all, const Row& row_of) {
  Table table = {.title = std::move(title), .header = std::move(header), .rows = {}};
  for (const T& each : all) {
    const auto row = row_of(each);
    table.rows.emplace_back(row.begin(), row.end());
  }
  return table;
}

// Whether a claim holds at the points of a grid of two quantities. Where chance may have decided,
// or no effect is seen, nobody knows.
struct ClaimMap {
  Text title;
  Text x_name, y_name;
  Samples x, y;
  std::function<Finding(double x, double y)> at;
};
// Shows the map in the section; and adds what can be read off it, "n / d ≥ 8", as a finding beyond
// the condition that texts know by its name.
void add_map(Section& section, const std::string& name, const ClaimMap& map);

// The losses of each step, by seed: of one kind of training.
using Losses = std::vector<Samples>;
// Adds whether all of these trainings no longer change, and where they do, the condition that the
// claim is about as many steps.
void add_settled(Section& section, const std::vector<Losses>& trainings);

// A cell for each of `all`, behind the first.
template <class T, class Cell>
std::vector<Text> row_by(Text first, const std::vector<T>& all, const Cell& cell_of) {
  std::vector<Text> row = {std::move(first)};
  for (const T& each : all) row.push_back(cell_of(each));
  return row;
}

}  // namespace qkv
