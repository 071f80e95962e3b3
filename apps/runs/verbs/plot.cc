#include "apps/runs/plot.h"

#include <algorithm>

#include "apps/report/svg/svg.h"
#include "cli/kit.h"

namespace qkv {
namespace {

void add_plot_options(OptionList& options) {
  options.text("metric", "NAME",
               "The number of metrics.jsonl to draw; loss is that of training and of validation",
               "loss");
  options.text("against", "X", "What it is drawn against: step, time or tokens", "step");
  options.one_of("against", names_of<Against>);
  options.flag("log", "Makes the axis of the metric logarithmic");
  options.text("svg", "FILE", "Writes the chart as SVG; -: to standard output");
  options.text("out", "FILE", "Writes it as a page; -: to standard output");
  options.text("csv", "FILE", "Writes every point, a line each; -: to standard output");
  options.rules().exclude({"svg=-"}, {"out=-", "csv=-"}, "standard output takes one of them");
  options.rules().exclude({"out=-"}, {"csv=-"}, "standard output takes one of them");
  options.rules().exclude({"log"}, {"csv=-"}, "a list of points has no axis", {"svg", "out"});
}

absl::Status run_plot(const std::string&, const GivenOptions& given) {
  const std::string svg = given.text("svg"), page = given.text("out"), csv = given.text("csv");
  const bool prints_chart = std::ranges::count(std::vector{svg, page, csv}, "-") == 0;
  const OutputFile files[] = {{"svg", file_named(svg), "<svg "},
                              {"out", file_named(page), kBeginningOfPage},
                              {"csv", file_named(csv), kBeginningOfCurves}};
  RETURN_IF_ERROR(check_outputs(files));
  ASSIGN_OR_RETURN(const Plot plot, read_plot(given.arguments(), given.text("metric"),
                                              given.value<Against>("against")));
  if (plot.curves.empty()) return all_mistakes(plot.mistakes);
  for (const std::string& note : plot.notes) say_note(note);
  const bool log = given.has("log"), has_colours = takes_colours(stdout);
  const int64_t columns = std::max<int64_t>(40, columns_of(stdout));
  if (prints_chart) print(plot_text(plot, log, columns, has_colours));
  const std::pair<std::string, std::string> outputs[] = {
      {svg, svg.empty() ? "" : svg_file(chart_of(plot, log), Language::kEnglish)},
      {page, page.empty() ? "" : plot_page(plot, log, Language::kEnglish)},
      {csv, csv.empty() ? "" : plot_csv(plot)}};
  for (const auto& [path, text] : outputs) {
    if (path.empty()) continue;
    RETURN_IF_ERROR(write_output(path, text));
    if (prints_chart) show(absl::StrCat("wrote ", printable(path), "\n"));
  }
  return all_mistakes(plot.mistakes);
}

}  // namespace

Verb plot_verb() {
  return {{"plot", "RUN…", "draws the curves of runs in the terminal"}, add_plot_options, run_plot};
}

}  // namespace qkv
