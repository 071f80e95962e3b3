#include "apps/check/step_charts.h"

#include "absl/strings/str_cat.h"
#include "apps/report/figure_html.h"
#include "apps/report/page_frame.h"

namespace qkv {
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
  return figure_html(
      LineChart{.title = absl::StrCat("Error of the numeric derivative against its step: ",
                                      curve.example),
                .x_label = "step h",
                .y_label = "relative error",
                .log_x = true,
                .log_y = true,
                .series = {one_sided, central, extrapolated}},
      Language::kEnglish);
}

}  // namespace qkv
