#include "lessons/labs/samples.h"

#include <cmath>
#include <numeric>

namespace qkv {

double least_of(const Samples& samples) { return std::ranges::min(samples); }
double most_of(const Samples& samples) { return std::ranges::max(samples); }

Samples log10_of(Samples samples) {
  for (double& sample : samples) sample = std::log10(sample);
  return samples;
}

Series numbered_series(std::string name, std::vector<double> y, int64_t first) {
  std::vector<double> x(y.size());
  std::iota(x.begin(), x.end(), static_cast<double>(first));
  return {.name = std::move(name), .x = std::move(x), .y = std::move(y)};
}

LineChart chart_of_losses(std::vector<Series> series) {
  return {.title = "Loss of the training batches, first seed",
          .x_label = "step",
          .y_label = "loss",
          .log_y = true,
          .series = std::move(series)};
}

}  // namespace qkv
