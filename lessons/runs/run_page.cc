#include "lessons/runs/run_page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/core/utf8.h"
#include "lessons/report/figure_html.h"
#include "lessons/report/page_frame.h"
#include "lessons/report/svg.h"
#include "lessons/runs/plot.h"
#include "lessons/runs/run_sections.h"
#include "train/config/config.h"
#include "train/runs/runs_table.h"

namespace qkv {
namespace {

// What `runs` shows of it, and what it is.
std::string facts_html(const RunSummary& run, const absl::StatusOr<RunWithData>& loaded) {
  const Text kNames[] = {{"run", "运行"},
                         {"task", "任务"},
                         {"state", "状态"},
                         {"steps", "步数"},
                         {"best loss", "最佳验证损失"},
                         {"right", "正确率"},
                         {"time", "训练用时"},
                         {"when", "最后写入"}};
  const std::vector<std::string> cells = runs_rows({run})[1];
  std::vector<std::vector<Text>> rows;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].empty()) rows.push_back({kNames[i], cells[i]});
  }
  if (run.best) rows.push_back({{"best at step", "最佳步"}, absl::StrCat(run.best->step)});
  rows.push_back(
      {{"model", "模型"}, absl::StrCat(run.config.model.kind, ", ", run.config.model.mixer)});
  if (loaded.ok()) {
    rows.push_back(
        {{"parameters", "参数个数"}, absl::StrCat(parameter_count(parameters(loaded->model)))});
  }
  rows.push_back({{"seed", "种子"}, absl::StrCat(run.config.seed)});
  return in_both([&](Language language) {
    return table_html({{"what", "内容"}, {"value", "值"}}, rows, language);
  });
}

std::string config_html(const Config& config) {
  const std::string toml = to_toml_with_origins(compared_with_defaults(config));
  return folded_html({"Every value of its config", "配置的每个值"},
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
  const Wanted kWanted[] = {
      {"loss", {"Loss", "损失"}},
      {"learning_rate", {"Learning rate", "学习率"}},
      {"grad_norm", {"Norm of the gradient, before clipping", "梯度的范数（裁剪前）"}, true}};
  std::vector<Figure> figures;
  for (const auto& [metric, title, is_logarithmic] : kWanted) {
    LineChart chart = curve_chart(run, metric, is_logarithmic);
    if (chart.series.empty()) continue;
    chart.title = title;
    if (chart.series.size() == 1) chart.series[0].name = Text();
    figures.emplace_back(std::move(chart));
  }
  LineChart right = {.title = {"Accuracy", "正确率"}};
  const std::pair<const char*, Text> kAccuracies[] = {
      {"val_sequence_accuracy", {"validation, whole answers", "验证，整个答案"}},
      {"val_token_accuracy", {"validation, tokens", "验证，词元"}},
      {"train_sequence_accuracy", {"training, whole answers", "训练，整个答案"}}};
  for (const auto& [metric, name] : kAccuracies) {
    LineChart chart = curve_chart(run, metric, false);
    // Where an answer is one token, whole answers and tokens are the same.
    const bool is_told = !chart.series.empty() && !right.series.empty() &&
                         metric == std::string_view("val_token_accuracy") &&
                         right.series[0].y == chart.series[0].y;
    if (chart.series.empty() || is_told) continue;
    chart.series[0].name = name;
    chart.series[0].colour = right.series.size();
    right.series.push_back(std::move(chart.series[0]));
  }
  if (!right.series.empty()) figures.emplace_back(std::move(right));
  for (Figure& figure : figures) std::get<LineChart>(figure).x_label = {"step", "步"};
  return figures;
}

std::string curves_section(const std::string& run) {
  const std::vector<Figure> figures = curves_of_run(run);
  return run_section({"Curves", "曲线"},
                     figures.empty()
                         ? paragraph_html({"This run has no metrics yet.", "这个运行还没有指标。"})
                         : figures_html(figures));
}

}  // namespace

std::string run_section(const Text& heading, const std::string& html) {
  return absl::StrCat("<section>\n<h2>", in_both(heading), "</h2>\n", html, "</section>\n");
}

std::string paragraph_html(const Text& text) {
  return absl::StrCat("<p>", in_both(text), "</p>\n");
}

std::string folded_html(const Text& title, const std::string& html) {
  return absl::StrCat("<details>\n<summary>", in_both(title), "</summary>\n", html, "</details>\n");
}

std::string figures_html(const std::vector<Figure>& figures) {
  std::string html = "<div class=\"figures\">\n";
  for (const Figure& figure : figures) {
    html += in_both([&](Language language) { return figure_html(figure, language); });
  }
  return html + "</div>\n";
}

absl::StatusOr<std::string> run_page(const std::string& path, Language language,
                                     const TellNote& tell) {
  const absl::StatusOr<RunSummary> run = summarize_run(path);
  if (!run.ok()) return run.status();
  if (run->is_damaged()) {
    return absl::DataLossError(absl::StrCat(path, " is ", run->state));
  }
  const absl::StatusOr<RunWithData> loaded = load_run_with_data(path, {}, /*in_f64=*/false, tell);
  if (!loaded.ok()) tell(std::string(loaded.status().message()));
  const std::string name = printable(run->config.name);
  const std::string body = absl::StrCat(
      element("h1", name), facts_html(*run, loaded), config_html(run->config), curves_section(path),
      samples_section(path), attention_section(loaded, tell), layers_section(*run, loaded));
  return page_in_both(name, body, language);
}

}  // namespace qkv
