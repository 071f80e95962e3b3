#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "apps/lesson/lesson.h"
#include "apps/report/statistics.h"
#include "apps/report/svg/svg_parts.h"
#include "apps/report/writers/page_frame.h"
#include "apps/runs/run_sections.h"
#include "framework/core/text/utf8.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

constexpr size_t kMostLines = 500;  // of a chart: a pixel for each
constexpr int64_t kMostRows = 32;   // of the batch whose gradients are computed here

struct ParameterNorms {
  std::string name;
  double gradient = 0, weight = 0;
  std::optional<double> update = {};  // the step's change, beside the weight
};

// For a part: the root of the sum of squares over its parameters.
struct PartNorms {
  std::string part;
  double gradient = 0, weight = 0, change = 0;

  double update() const { return change == 0 ? 0 : change / weight; }
};

std::vector<PartNorms> by_part(const std::vector<ParameterNorms>& parameters) {
  std::vector<PartNorms> parts;
  for (const ParameterNorms& p : parameters) {
    const std::string part = part_of_parameter(p.name);
    auto found = std::ranges::find(parts, part, &PartNorms::part);
    if (found == parts.end()) found = parts.insert(parts.end(), {.part = part});
    found->gradient = std::hypot(found->gradient, p.gradient);
    found->weight = std::hypot(found->weight, p.weight);
    found->change = std::hypot(found->change, p.update.value_or(0) * p.weight);
  }
  return parts;
}

std::vector<ParameterNorms> norms_of(const StepDetail& detail) {
  std::map<std::string, double> weights(detail.weight_norm.begin(), detail.weight_norm.end());
  std::map<std::string, double> updates(detail.update_ratio.begin(), detail.update_ratio.end());
  std::vector<ParameterNorms> norms;
  for (const auto& [name, gradient] : detail.gradient_norm) {
    norms.push_back({name, gradient, weights[name], updates[name]});
  }
  return norms;
}

double norm_of_numbers(const Tensor& tensor) {
  double norm = 0;
  for (const double number : tensor.to_vector()) norm = std::hypot(norm, number);
  return norm;
}

// By one pass of training's first batch, or of a part of it, so that it takes no more memory than a
// step did.
std::vector<ParameterNorms> norms_now(const RunWithData& run) {
  const TrainOptions& train = run.run.checkpoint.config.train;
  const int64_t rows = std::min(kMostRows, train.batch_size / train.accumulation_steps);
  const std::vector<NamedParameter> all = parameters(run.model);
  ForwardContext context;
  const BatchGradients found =
      accumulate_gradients(run.model, all, run.dataset->training_batch(0, rows), /*pieces=*/1,
                           train.label_smoothing, context);
  std::vector<ParameterNorms> norms;
  for (size_t i = 0; i < all.size(); ++i) {
    norms.push_back(
        {all[i].name, norm_of_numbers(found.gradients[i]), norm_of_numbers(all[i].tensor)});
  }
  return norms;
}

std::string table_of_parameters(const std::vector<ParameterNorms>& norms) {
  Table table = {.title = Text(), .header = {say("parameter"), say("gradient"), say("weights")}};
  const bool has_updates = !norms.empty() && norms.front().update.has_value();
  if (has_updates) table.header.push_back(say("update / weights"));
  for (const ParameterNorms& p : norms) {
    table.rows.push_back({printable(p.name), format_number(p.gradient), format_number(p.weight)});
    if (has_updates) table.rows.back().push_back(format_number(*p.update));
  }
  const auto drawn = [&](Language language) {
    return table_html(table.header, table.rows, language);
  };
  return folded_html(say("Norms of every parameter"), in_both(drawn));
}

// A line for each part over the steps.
struct PartsOverSteps {
  LineChart gradients = {.title = say("Norm of the gradient"), .log_y = true};
  LineChart weights = {.title = say("Norm of the weights"), .log_y = true};
  LineChart updates = {.title = say("Norm of the update / norm of the weights"), .log_y = true};
  LineChart entropies = {
      .title = say("Entropy of the attention weights in nats, the mean over the heads")};

  static void add(LineChart& chart, const std::string& name, int64_t step, double y) {
    auto series = std::ranges::find(chart.series, Text(name), &Series::name);
    if (series == chart.series.end()) {
      // Beyond the last colour, dashes distinguish them.
      const bool is_dashed = chart.series.size() / kColoursOfSeries % 2 == 1;
      series = chart.series.insert(series, {.name = name, .is_dashed = is_dashed});
    }
    series->x.push_back(static_cast<double>(step));
    series->y.push_back(y);
    series->has_marks = series->x.size() == 1;
  }
};

std::vector<Figure> figures_over_steps(const std::vector<const Metrics*>& lines) {
  PartsOverSteps charts;
  for (const Metrics* line : lines) {
    for (const PartNorms& part : by_part(norms_of(*line->detail))) {
      const std::string name = printable(part.part);
      PartsOverSteps::add(charts.gradients, name, line->step, part.gradient);
      PartsOverSteps::add(charts.weights, name, line->step, part.weight);
      PartsOverSteps::add(charts.updates, name, line->step, part.update());
    }
    for (const auto& [path, heads] : line->detail->attention_entropy) {
      if (!heads.empty()) {
        PartsOverSteps::add(charts.entropies, printable(path), line->step, mean_of(heads));
      }
    }
  }
  std::vector<Figure> figures = {charts.gradients, charts.weights, charts.updates};
  if (!charts.entropies.series.empty()) figures.emplace_back(charts.entropies);
  for (Figure& figure : figures) {
    auto& chart = std::get<LineChart>(figure);
    chart.x_label = say("step");
  }
  return figures;
}

std::vector<Figure> figures_now(const std::vector<ParameterNorms>& norms) {
  Bars gradients = {.title = say("Norm of the gradient"), .parts = {Text()}};
  Bars weights = {.title = say("Norm of the weights"), .parts = {Text()}};
  for (const PartNorms& part : by_part(norms)) {
    gradients.bars.emplace_back(printable(part.part));
    gradients.shares.push_back({part.gradient});
    weights.bars.emplace_back(printable(part.part));
    weights.shares.push_back({part.weight});
  }
  return {gradients, weights};
}

}  // namespace

std::string layers_section(const RunSummary& run, const absl::StatusOr<RunWithData>& loaded) {
  const Text heading = say("Gradients and weights, part by part");
  std::vector<const Metrics*> lines;
  for (const Metrics& line : run.metrics) {
    if (line.detail) lines.push_back(&line);
  }
  if (!lines.empty()) {
    const size_t each = (lines.size() + kMostLines - 1) / kMostLines;
    std::vector<const Metrics*> drawn;  // the last, and those that are so far apart
    for (size_t i = (lines.size() - 1) % each; i < lines.size(); i += each) {
      drawn.push_back(lines[i]);
    }
    Text how = say("Measured in training; the table is of step {0}.", lines.back()->step);
    if (each > 1) how = say("{0} {1}", how, say("One of {0} measurements is drawn.", each));
    return titled_html(heading,
                       absl::StrCat(figures_html(figures_over_steps(drawn)), paragraph_html(how),
                                    table_of_parameters(norms_of(*lines.back()->detail))));
  }
  if (!loaded.ok()) {
    const std::string message = printable(std::string(loaded.status().message()));
    return titled_html(heading, paragraph_html(say("There is no model to measure: {0}", message)));
  }
  const std::vector<ParameterNorms> norms = norms_now(*loaded);
  return titled_html(
      heading, absl::StrCat(paragraph_html(say("layers.how")), figures_html(figures_now(norms)),
                            table_of_parameters(norms)));
}

}  // namespace qkv
