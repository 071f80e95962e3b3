#include "apps/runs/plot.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "apps/runs/run_summary.h"
#include "train/config/suggest.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

constexpr char kLoss[] = "loss", kValidationLoss[] = "val_loss";

std::vector<std::string> metrics_of(const std::string& metric) {
  if (metric == kLoss) return {kLoss, kValidationLoss};
  return {metric};
}

std::optional<double> number_in(const Metrics& line, const std::string& metric) {
  for (const auto& [name, number] : metrics_numbers(line)) {
    if (name == metric) return number;
  }
  return std::nullopt;
}

// The input of a step, which is the same of every step.
struct StepInput {
  double count = 0;
  std::string unit;
};
absl::StatusOr<StepInput> input_of_step(const Config& config) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset, make_dataset(config));
  const Batch batch = dataset->training_batch(0, config.train.batch_size);
  return StepInput{static_cast<double>(batch.tokens()), dataset->shape().unit()};
}

class PlotReader {
 public:
  PlotReader(const std::string& metric, Against against) {
    plot_.metric = metric;
    plot_.against = against;
    plot_.unit = against == Against::kTime ? "seconds" : absl::StrCat(name_of(against), "s");
    if (against == Against::kTokens) plot_.unit = "tokens";
  }

  void read(const std::string& path) {
    const absl::StatusOr<std::vector<std::string>> runs = find_runs(path);
    if (!runs.ok()) {
      plot_.mistakes.push_back(runs.status());
    } else if (runs->empty()) {
      plot_.mistakes.push_back(not_found("there is no run in ", path));
    } else {
      for (const std::string& run : *runs) read_run(run);
    }
  }

  absl::StatusOr<Plot> finish() {
    if (!plot_.curves.empty()) return std::move(plot_);
    if (!plot_.mistakes.empty()) return std::move(plot_);
    if (names_.empty()) {
      return failed_precondition(plot_.notes.front(), ": nothing to draw");
    }
    return unknown_metric();
  }

 private:
  void read_run(const std::string& path) {
    const absl::StatusOr<RunSummary> run = summarize_run(path);
    if (!run.ok()) {
      plot_.mistakes.push_back(run.status());
    } else if (run->is_damaged()) {
      plot_.mistakes.push_back(data_loss(path, " is ", run->state));
    } else if (run->metrics.empty()) {
      plot_.notes.push_back(absl::StrCat(path, " has no metrics yet"));
    } else {
      add(*run);
    }
  }

  void add(const RunSummary& run) {
    StepInput input;
    if (plot_.against == Against::kTokens) {
      const absl::StatusOr<StepInput> found = input_of_step(run.config);
      if (!found.ok()) {
        plot_.mistakes.push_back(absl::Status(
            found.status().code(), absl::StrCat(run.path, ": ", found.status().message())));
        return;
      }
      input = *found;
      plot_.unit = input.unit;
    }
    note_names(run);
    bool is_drawn = false;
    for (const std::string& metric : metrics_of(plot_.metric)) {
      Curve curve = curve_of(run, metric, input);
      if (curve.points.empty()) continue;
      note_what_is_no_number(curve);
      plot_.curves.push_back(std::move(curve));
      is_drawn = true;
    }
    if (is_drawn) {
      ++drawn_;
    } else {
      plot_.notes.push_back(absl::StrCat(run.path, " has no ", plot_.metric));
    }
  }

  Curve curve_of(const RunSummary& run, const std::string& metric, const StepInput& input) const {
    Curve curve = {.run = run.path, .number = drawn_, .metric = metric};
    for (const Metrics& line : run.metrics) {
      const std::optional<double> y = number_in(line, metric);
      std::optional<double> x = static_cast<double>(line.step);
      if (plot_.against == Against::kTime) x = line.elapsed_seconds;
      if (plot_.against == Against::kTokens) x = static_cast<double>(line.step) * input.count;
      if (x && y) curve.points.push_back({line.step, *x, *y});
    }
    return curve;
  }

  void note_what_is_no_number(const Curve& curve) {
    const auto count = std::ranges::count_if(
        curve.points, [](const CurvePoint& p) { return !std::isfinite(p.y); });
    if (count == 0) return;
    plot_.notes.push_back(absl::StrCat(curve.run, ": plot leaves out the numbers of ", curve.metric,
                                       " that are not finite: ", count, " of ",
                                       curve.points.size()));
  }

  void note_names(const RunSummary& run) {
    for (const Metrics& line : run.metrics) {
      for (const auto& [name, number] : metrics_numbers(line)) {
        if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
      }
    }
  }

  absl::Status unknown_metric() const {
    const std::string near = nearest(plot_.metric, names_);
    return invalid_argument("--metric: no run has \"", plot_.metric, "\"; ",
                            near.empty() ? absl::StrCat("there are ", names_in_words())
                                         : absl::StrCat("did you mean \"", near, "\"?"));
  }

  // A detail has names for each parameter; one is shown.
  std::string names_in_words() const {
    const auto family_of = [](const std::string& name) { return name.substr(0, name.find('/')); };
    std::vector<std::string> words;
    for (size_t i = 0, end = 0; i < names_.size(); i = end) {
      end = i + 1;
      while (end < names_.size() && family_of(names_[end]) == family_of(names_[i])) ++end;
      words.push_back(names_[i]);
      if (end > i + 1) absl::StrAppend(&words.back(), " (and ", end - i - 1, " like it)");
    }
    return list_in_words(words, "and");
  }

  Plot plot_;
  size_t drawn_ = 0;
  std::vector<std::string> names_;
};

}  // namespace

absl::StatusOr<Plot> read_plot(const std::vector<std::string>& paths, const std::string& metric,
                               Against against) {
  PlotReader reader(metric, against);
  for (const std::string& path : paths) reader.read(path);
  return reader.finish();
}

}  // namespace qkv
