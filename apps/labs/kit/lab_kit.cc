#include "apps/labs/kit/lab_kit.h"

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

}  // namespace qkv
