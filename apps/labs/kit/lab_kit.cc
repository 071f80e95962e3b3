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

namespace {

struct Point {
  double x, y;
  FindingResult result;
};

// The bound that parts the points where it holds from the others: of one quantity, or of a product
// of both.
Text where_it_holds(const ClaimMap& map, const std::vector<Point>& points) {
  struct Quantity {
    std::string name;
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
      (point.result == FindingResult::kAgrees ? holding : failing).push_back(value);
    }
    if (holding.empty()) return say("at no point");
    if (failing.empty()) break;
    if (least_of(holding) > most_of(failing))
      return absl::StrCat(quantity.name, " ≥ ", format_number(least_of(holding)));
    if (most_of(holding) < least_of(failing))
      return absl::StrCat(quantity.name, " ≤ ", format_number(most_of(holding)));
  }
  const auto holding = std::ranges::count(points, FindingResult::kAgrees, &Point::result);
  return say("at {0} of {1} points", holding, std::ssize(points));
}

}  // namespace

void add_map(Section& section, const std::string& name, const ClaimMap& map) {
  const auto named_number = [](const std::string& quantity) {
    return
        [=](double number) { return Text(absl::StrCat(quantity, " = ", format_number(number))); };
  };
  Table table = {.title = map.title,
                 .header = row_by(Text(), map.x, named_number(map.x_name)),
                 .is_map = true};
  std::vector<Point> points;
  for (const double y : map.y) {
    table.rows.push_back(row_by(named_number(map.y_name)(y), map.x, [&](double x) {
      points.push_back({x, y, map.at(x, y)});
      return Text(sign_of(points.back().result));
    }));
  }
  const auto holding = std::ranges::count(points, FindingResult::kAgrees, &Point::result);
  section.add(beyond(named(name, found(map.title, say("at each point"), where_it_holds(map, points),
                                       holding == std::ssize(points)))));
  section.show(std::move(table));
}

}  // namespace qkv
