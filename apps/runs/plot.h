#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/report/figure.h"
#include "apps/report/writers/text_chart.h"
#include "framework/core/status.h"
#include "framework/core/text/names.h"

namespace qkv {

enum class Against { kStep, kTime, kTokens };
template <>
inline constexpr Named<Against> kNames<Against>[] = {
    {"step", Against::kStep}, {"time", Against::kTime}, {"tokens", Against::kTokens}};

// Numbers of metrics.jsonl, by step.
struct CurvePoint {
  int64_t step = 0;
  double x = 0;  // the step; seconds of training; how much the model has read
  double y = 0;
};
struct Curve {
  std::string run;     // "runs/reverse"
  size_t number = 0;   // of the run among those that are drawn
  std::string metric;  // "val_loss"
  std::vector<CurvePoint> points = {};

  bool is_validation() const { return metric == "val_loss"; }
};

// An error in one run hides no other.
struct Plot {
  std::string metric;
  Against against = Against::kStep;
  std::string unit;  // of x: "steps", "seconds", "tokens"
  std::vector<Curve> curves = {};
  std::vector<std::string> notes = {};      // a sentence for each run not drawn
  std::vector<absl::Status> mistakes = {};  // runs that cannot be read
};

// `paths`: runs, or folders of them. The metric "loss" is that of training and of validation. An
// error where there is nothing to draw: for a metric that no run has, it lists the others.
absl::StatusOr<Plot> read_plot(const std::vector<std::string>& paths, const std::string& metric,
                               Against against);

// A chart of the curves. A curve with more points than can be seen keeps the lowest and highest;
// one without a finite number is left out.
LineChart chart_of(const Plot& plot, bool is_logarithmic);

inline constexpr char kBeginningOfCurves[] = "run,metric,step,";

// A line for each point, its numbers such that they read back as the same double.
std::string plot_csv(const Plot& plot);
// The chart, and its curves with their last, smallest and largest numbers.
std::string plot_text(const Plot& plot, bool is_logarithmic, int64_t columns, bool has_colours);
std::string plot_page(const Plot& plot, bool is_logarithmic, Language language);

}  // namespace qkv
