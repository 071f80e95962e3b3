#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "apps/report/writers/page_frame.h"
#include "apps/runs/plot.h"
#include "apps/runs/run_sections.h"
#include "cli/kit.h"
#include "framework/io/files.h"
#include "train/config/config.h"
#include "train/config/config_fields.h"

namespace qkv {
namespace {

std::string facts_html(const RunSummary& run, const absl::StatusOr<RunWithData>& loaded) {
  std::vector<std::vector<Text>> rows =
      listed({facts_of(run)}, {"run", "task", "state", "steps", "best_val_loss", "accuracy",
                               "seconds", "changed", "best_step", "seed"});
  std::erase_if(rows, [](const std::vector<Text>& row) { return row[1].empty(); });
  rows.push_back({say("model"), absl::StrCat(run.config.model.kind, ", ", run.config.model.mixer)});
  if (loaded.ok()) {
    rows.push_back(
        {say("fact.parameters"), absl::StrCat(parameter_count(parameters(loaded->model)))});
  }
  return in_both([&](Language language) {
    return table_html({say("what"), say("value")}, rows, language);
  });
}

// The origin of a value is whether it is the default.
LoadedConfig compared_with_defaults(const Config& config) {
  LoadedConfig loaded;
  loaded.config = config;
  Config copy = config, defaults;
  const std::vector<Field> fields = config_fields(copy), of_defaults = config_fields(defaults);
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string value = of_defaults[i].to_string();
    if (fields[i].to_string() == value) continue;
    loaded.origins[fields[i].key()] = absl::StrCat("set; the default is ", value);
  }
  return loaded;
}

std::string config_html(const Config& config) {
  const std::string toml = to_toml_with_origins(compared_with_defaults(config));
  return folded_html(say("Every value of its config"),
                     absl::StrCat("<pre><code>", escaped(toml), "</code></pre>\n"));
}

LineChart curve_chart(const std::string& run, const std::string& metric, bool is_logarithmic) {
  const absl::StatusOr<Plot> plot = read_plot({run}, metric, Against::kStep);
  if (!plot.ok() || plot->curves.empty()) return {};
  return chart_of(*plot, is_logarithmic);
}

std::vector<Figure> curves_of_run(const std::string& run) {
  struct Wanted {
    const char* metric;
    Text title;
    bool is_logarithmic = false;
  };
  const Wanted kWanted[] = {{"loss", say("Loss")},
                            {"learning_rate", say("Learning rate")},
                            {"grad_norm", say("Norm of the gradient, before clipping"), true}};
  std::vector<Figure> figures;
  for (const auto& [metric, title, is_logarithmic] : kWanted) {
    LineChart chart = curve_chart(run, metric, is_logarithmic);
    if (chart.series.empty()) continue;
    chart.title = title;
    if (chart.series.size() == 1) chart.series[0].name = Text();
    figures.emplace_back(std::move(chart));
  }
  LineChart right = {.title = say("Accuracy")};
  const std::pair<const char*, Text> kAccuracies[] = {
      {"val_sequence_accuracy", say("validation, whole answers")},
      {"val_token_accuracy", say("validation, tokens")},
      {"train_sequence_accuracy", say("training, whole answers")}};
  for (const auto& [metric, name] : kAccuracies) {
    LineChart chart = curve_chart(run, metric, false);
    // Where an answer is one token, whole answers and tokens are the same.
    const bool is_repeated = !chart.series.empty() && !right.series.empty() &&
                             metric == std::string_view("val_token_accuracy") &&
                             right.series[0].y == chart.series[0].y;
    if (chart.series.empty() || is_repeated) continue;
    chart.series[0].name = name;
    chart.series[0].colour = right.series.size();
    right.series.push_back(std::move(chart.series[0]));
  }
  if (!right.series.empty()) figures.emplace_back(std::move(right));
  for (Figure& figure : figures) std::get<LineChart>(figure).x_label = say("step");
  return figures;
}

constexpr size_t kMostEvaluations = 24;  // with samples shown

struct SamplesOfStep {
  std::string step;
  std::vector<std::string> lines = {};
};

// A last line without an end is being written.
std::vector<SamplesOfStep> parts_of(const std::string& text) {
  std::vector<SamplesOfStep> parts;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();
  for (const std::string& line : lines) {
    if (absl::StartsWith(line, "step ")) {
      parts.push_back({line.substr(5)});
    } else if (!parts.empty() && !line.empty()) {
      parts.back().lines.push_back(line);
    }
  }
  return parts;
}

std::string line_html(const std::string& line) {
  for (const auto& [end, kind] :
       {std::pair("  right", "agrees"), std::pair("  wrong", "disagrees")}) {
    if (!line.ends_with(end)) continue;
    const std::string before = line.substr(0, line.size() - std::string_view(end).size());
    return absl::StrCat(escaped(printable(before)), "  <span class=\"", kind, "\">", end + 2,
                        "</span>\n");
  }
  return escaped(printable(line)) + "\n";
}

std::string part_html(const SamplesOfStep& part) {
  std::string html = absl::StrCat("<p>", in_both(say("Step {0}", printable(part.step))),
                                  "</p>\n<pre class=\"samples\">");
  for (const std::string& line : part.lines) html += line_html(line);
  return html + "</pre>\n";
}

// The content of samples.txt: the last evaluation, and earlier ones folded.
std::string samples_section(const std::string& run) {
  const Text heading = say("Samples");
  const absl::StatusOr<std::string> text =
      read_regular_file((std::filesystem::path(run) / "samples.txt").string());
  const std::vector<SamplesOfStep> parts =
      text.ok() ? parts_of(*text) : std::vector<SamplesOfStep>();
  if (parts.empty()) {
    return titled_html(heading,
                       paragraph_html(say("This run has no samples: it was not evaluated yet.")));
  }
  std::string html = part_html(parts.back());
  if (parts.size() == 1) return titled_html(heading, html);
  std::string earlier;
  const size_t count = parts.size() - 1, shown = std::min(count, kMostEvaluations);
  for (size_t i = 0; i < shown; ++i) {
    earlier += part_html(parts[shown == 1 ? 0 : i * (count - 1) / (shown - 1)]);
  }
  const Text title = count == 1       ? say("The evaluation before")
                     : shown == count ? say("The {0} evaluations before", count)
                                      : say("{0} of the {1} evaluations before", shown, count);
  return titled_html(heading, html + folded_html(title, earlier));
}

std::string curves_section(const std::string& run) {
  const std::vector<Figure> figures = curves_of_run(run);
  return titled_html(say("Curves"), figures.empty()
                                        ? paragraph_html(say("This run has no metrics yet."))
                                        : figures_html(figures));
}

// HTML that needs nothing else: the config and results of a run, its curves and samples; what its
// best checkpoint attends to, and the sizes of its gradients, part by part. Where there is no
// checkpoint, or no data, the page says so, and a note as well.
absl::StatusOr<std::string> run_page(const std::string& path, Language language) {
  ASSIGN_OR_RETURN(const RunSummary run, summarize_run(path));
  if (run.is_damaged()) return data_loss(path, " is ", run.state);
  const absl::StatusOr<RunWithData> loaded =
      with_data(load_run(path), {}, /*in_f64=*/false, say_note);
  if (!loaded.ok()) say_note(std::string(loaded.status().message()));
  const std::string name = printable(run.config.name);
  const std::string body = absl::StrCat(
      element("h1", name), facts_html(run, loaded), config_html(run.config), curves_section(path),
      samples_section(path), attention_section(loaded, say_note), layers_section(run, loaded));
  return page_in_both(name, body, language);
}

void add_report_options(OptionList& options) {
  options.text("out", "FILE", "The page to write; -: to standard output");
  options.text("lang", "en|zh", "Language that the page begins with", "en");
  options.one_of("lang", names_of<Language>);
}

absl::Status run_report(const std::string& run, const GivenOptions& given) {
  const std::string path = given.text("out");
  RETURN_IF_ERROR(reject({{path.empty(), "report needs --out FILE, the page to write"}}));
  const OutputFile file = {"out", file_named(path), kBeginningOfPage};
  RETURN_IF_ERROR(check_outputs({&file, 1}));
  ASSIGN_OR_RETURN(const std::string page, run_page(run, given.value<Language>("lang")));
  RETURN_IF_ERROR(write_output(path, page));
  if (path != "-") show(absl::StrCat("wrote ", printable(path), "\n"));
  return absl::OkStatus();
}

}  // namespace

Verb report_verb() {
  return {
      {"report", "RUN", "writes a page that shows all of a run"}, add_report_options, run_report};
}

}  // namespace qkv
