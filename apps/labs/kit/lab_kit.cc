#include "apps/labs/kit/lab_kit.h"

#include "apps/report/writers/notes.h"

namespace qkv {

double least_of(const Samples& samples) { return std::ranges::min(samples); }
double most_of(const Samples& samples) { return std::ranges::max(samples); }

Samples log10_of(Samples samples) {
  for (double& sample : samples) sample = std::log10(sample);
  return samples;
}

Series numbered_series(Text name, std::vector<double> y, int64_t first) {
  std::vector<double> x(y.size());
  std::iota(x.begin(), x.end(), static_cast<double>(first));
  return {.name = std::move(name), .x = std::move(x), .y = std::move(y)};
}

LineChart line_chart(Text title, AxisLabel x, AxisLabel y, std::vector<Series> series) {
  return {.title = std::move(title),
          .x_label = std::move(x.text),
          .y_label = std::move(y.text),
          .log_x = x.is_logarithmic,
          .log_y = y.is_logarithmic,
          .series = std::move(series)};
}

LineChart chart_of_losses(std::vector<Series> series) {
  return line_chart(say("Loss of the training batches, first seed"), say("step"),
                    log_axis(say("loss")), std::move(series));
}

void add_settled(Section& section, const std::vector<Losses>& trainings) {
  constexpr double kTolerance = 0.02;
  const auto over_quarter = [](const Losses& losses, size_t quarter) {
    return values_of(losses, [=](const Samples& steps) {
      const size_t begin = quarter * steps.size() / 4, end = (quarter + 1) * steps.size() / 4;
      return mean_of(std::span(steps).subspan(begin, std::max<size_t>(1, end - begin)));
    });
  };
  const Losses& slowest = *std::ranges::max_element(trainings, {}, [&](const Losses& losses) {
    return std::abs(mean_of(over_quarter(losses, 2)) - mean_of(over_quarter(losses, 3)));
  });
  section.add(beyond(named(
      "settled", alike(say("no longer changes: loss over the third quarter of the steps, and over "
                           "the last, of the training that changes most"),
                       over_quarter(slowest, 2), over_quarter(slowest, 3), kTolerance))));
  const Text about =
      say("it is about the first {--steps} steps of training: the loss still changes");
  section.conditions.push_back({.when = {"settled disagrees"}, .text = about});
  section.conditions.push_back({.when = {"settled undecided"}, .text = about});
}

namespace {

struct Point {
  double x, y;
  FindingResult result;

  bool holds() const { return result == FindingResult::kAgrees; }
};

// The bound that parts the points where it holds from the others: of one quantity, or of a product
// of both. "": there is none.
Text bound_of(const ClaimMap& map, const std::vector<Point>& points) {
  struct Quantity {
    Text name;
    double x, y;  // powers
  };
  const Quantity quantities[] = {{map.x_name, 1, 0},
                                 {map.y_name, 0, 1},
                                 {map.x_name + " / " + map.y_name, 1, -1},
                                 {map.x_name + " " + map.y_name, 1, 1},
                                 {map.x_name + "² " + map.y_name, 2, 1}};
  for (const Quantity& quantity : quantities) {
    Samples holding, failing;
    for (const Point& point : points) {
      const double value = std::pow(point.x, quantity.x) * std::pow(point.y, quantity.y);
      (point.holds() ? holding : failing).push_back(value);
    }
    if (holding.empty()) return say("at no point");
    if (failing.empty()) return say("at each point");
    if (least_of(holding) > most_of(failing))
      return quantity.name + " ≥ " + format_number(least_of(holding));
    if (most_of(holding) < least_of(failing))
      return quantity.name + " ≤ " + format_number(most_of(holding));
  }
  return {};
}

Text named_number(const Text& quantity, double number) {
  return quantity + " = " + format_number(number);
}

// One bound of all points, or else those of the rows: "d = 4, 16: n ≥ 2; d = 64: at no point".
Text where_it_holds(const ClaimMap& map, const std::vector<Point>& points) {
  Text where = bound_of(map, points);
  if (!where.empty()) return where;
  const auto width = std::ssize(map.x);
  std::vector<std::pair<Text, Text>> bounds;  // by rows that have the same
  for (auto row = points.begin(); row != points.end(); row += width) {
    const Text bound = bound_of(map, {row, row + width});
    if (bound.empty()) {
      return say("at {0} of {1} points", std::ranges::count_if(points, &Point::holds),
                 std::ssize(points));
    }
    if (bounds.empty() || bounds.back().second != bound) {
      bounds.emplace_back(named_number(map.y_name, row->y), bound);
    } else {
      bounds.back().first = bounds.back().first + ", " + format_number(row->y);
    }
  }
  for (const auto& [rows, bound] : bounds) {
    const Text of_rows = say("{0}: {1}", rows, bound);
    where = where.empty() ? of_rows : say("{0}; {1}", where, of_rows);
  }
  return where;
}

}  // namespace

void add_map(Section& section, const std::string& name, const ClaimMap& map) {
  using enum FindingResult;
  Report report;
  report.sections.emplace_back();
  for (const double y : map.y) {
    for (const double x : map.x) report.sections[0].add(map.at(x, y));
  }
  report.correct_for_chance();
  const size_t width = map.x.size();
  std::vector<Point> points;
  for (const Finding& each : report.sections[0].findings) {
    const size_t i = points.size();
    const bool is_open = each.result == kNotSeen;  // whether an effect not seen is there
    points.push_back({map.x[i % width], map.y[i / width], is_open ? kUndecided : each.result});
  }
  const auto count = [&](FindingResult result) {
    return std::ranges::count(points, result, &Point::result);
  };
  Text where = where_it_holds(map, points);
  if (count(kUndecided) > 0) {
    where = say("{0}; undecided at {1} of {2} points", where, count(kUndecided), points.size());
  }
  Finding finding = found(map.title, say("at each point"), where, true);
  finding.result = count(kDisagrees) > 0   ? kDisagrees
                   : count(kUndecided) > 0 ? kUndecided
                                           : kAgrees;
  section.add(beyond(named(name, finding)));

  Table table = {
      .title = map.title,
      .header = row_by(Text(), map.x, [&](double x) { return named_number(map.x_name, x); }),
      .is_map = true};
  for (auto row = points.begin(); row != points.end(); row += std::ssize(map.x)) {
    table.rows.push_back(row_by(named_number(map.y_name, row->y),
                                std::vector<Point>(row, row + std::ssize(map.x)),
                                [](const Point& p) { return Text(sign_of(p.result)); }));
  }
  section.show(std::move(table));
}

}  // namespace qkv
