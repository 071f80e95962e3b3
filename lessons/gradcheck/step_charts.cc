#include "lessons/gradcheck/step_charts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lessons/report/page_frame.h"
#include "lessons/report/svg.h"

namespace qkv {
namespace {

std::string figure_of(const LineChart& chart) {
  return absl::StrCat("<figure>\n", element("figcaption", chart.title), "<div class=\"wide\">\n",
                      svg_of(chart), "</div>\n</figure>\n");
}

std::string v_curve_of(const StepCurve& curve) {
  if (curve.points.empty()) return element("p", "No V curve: " + curve.why_none, "soft");
  Series one_sided{.name = "one-sided", .has_marks = false};
  Series central{.name = "central", .has_marks = false};
  Series extrapolated{.name = "extrapolated", .has_marks = false};
  bool has_error = false;
  for (const SweepPoint& p : curve.points) {
    for (Series* series : {&one_sided, &central, &extrapolated}) series->x.push_back(p.step);
    one_sided.y.push_back(p.forward_error);
    central.y.push_back(p.central_error);
    extrapolated.y.push_back(p.extrapolated_error);
    has_error |= p.forward_error > 0 || p.central_error > 0 || p.extrapolated_error > 0;
  }
  if (!has_error)
    return element("p", "No V curve: the differences are exact at every step", "soft");
  return figure_of(
      {.title = absl::StrCat("Error of the numeric derivative against its step: ", curve.example),
       .x_label = "step h",
       .y_label = "relative error",
       .log_x = true,
       .log_y = true,
       .series = {one_sided, central, extrapolated}});
}

bool has_curve(const TaylorReport& taylor) {
  return taylor.measured && taylor.remainders.size() > 1 && taylor.remainders[0] > 0;
}

// The line R(h) = R₀ (h / h₀)^slope through the remainder at the largest step.
Series guide(const TaylorReport& taylor, int slope) {
  Series series{.name = absl::StrCat("slope ", slope), .x = taylor.steps, .has_marks = false};
  for (const double h : taylor.steps) {
    const double ratio = h / taylor.steps[0];
    series.y.push_back(taylor.remainders[0] * (slope == 2 ? ratio * ratio : ratio));
  }
  return series;
}

std::string taylor_of(const CheckedFunction& function) {
  const CheckedExample* shown_example = nullptr;
  const InputReport* shown = nullptr;
  for (const CheckedExample& example : function.examples) {
    for (const InputReport& input : example.report.inputs) {
      if (!has_curve(input.taylor)) continue;
      if (shown != nullptr && (input.passed() || !shown->passed())) continue;
      shown_example = &example;
      shown = &input;
    }
  }
  if (shown == nullptr) {
    return element("p", "No Taylor remainder: nothing but rounding is left, f is linear", "soft");
  }
  return figure_of(
      {.title = absl::StrCat("Taylor remainder R(h) of ", shown->name, ": ", shown_example->name),
       .x_label = "step h",
       .y_label = "remainder R(h)",
       .log_x = true,
       .log_y = true,
       .series = {{.name = "R(h)", .x = shown->taylor.steps, .y = shown->taylor.remainders},
                  guide(shown->taylor, 1),
                  guide(shown->taylor, 2)}});
}

}  // namespace

std::string charts_of(const CheckedFunction& function) {
  return absl::StrCat("<div class=\"charts\">\n", v_curve_of(function.curve), taylor_of(function),
                      "</div>\n");
}

}  // namespace qkv
