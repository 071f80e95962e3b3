#include "apps/runs/run_summary.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "apps/report/texts/texts.h"
#include "framework/io/safetensors.h"
#include "train/config/config.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

void read_metrics_of(RunSummary& run, const absl::StatusOr<std::vector<Metrics>>& lines) {
  if (!lines.ok()) return;
  run.metrics = *lines;
  for (const Metrics& line : run.metrics) {
    run.steps = line.step;
    const double before = std::exchange(run.seconds, line.elapsed_seconds.value_or(run.seconds));
    if (run.seconds > before) {
      run.tokens += line.tokens_per_second.value_or(0) * (run.seconds - before);
    }
    const bool is_best = line.val_loss && (!run.best || *line.val_loss < *run.best->val_loss);
    if (is_best && std::isfinite(*line.val_loss)) run.best = line;
  }
}

// A run that was stopped has saved steps after its last line.
int64_t saved_steps(const fs::path& folder) {
  const absl::StatusOr<TensorFileHeader> header =
      read_safetensors_header((folder / "checkpoints" / "last.safetensors").string());
  int64_t steps = 0;
  if (!header.ok() || !header->metadata.contains("step")) return 0;
  return absl::SimpleAtoi(header->metadata.at("step"), &steps) ? steps : 0;
}

std::string state_of(const RunSummary& run) {
  if (is_in_use(run.path)) return "training";
  const int64_t patience = run.config.train.patience;
  const auto is_later = [&run](const Metrics& line) {
    return line.val_loss && run.best && line.step > run.best->step;
  };
  const bool lost_patience =
      patience > 0 && std::ranges::count_if(run.metrics, is_later) >= patience;
  return run.steps >= run.config.train.steps || lost_patience ? "finished" : "stopped";
}

// By local time: "2026-11-26 05:10".
std::string when(const RunSummary& run) {
  const auto time = std::chrono::file_clock::to_sys(run.changed);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm parts = {};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

std::vector<std::string> runs_in(const fs::path& folder, std::vector<std::string>& others) {
  std::vector<std::string> runs;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    std::error_code ignored;
    if (!i->is_directory(ignored)) continue;
    (holds_run(i->path()) ? runs : others).push_back(i->path().string());
  }
  return runs;
}

}  // namespace

bool holds_run(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / "config.toml", ignored);
}

std::optional<double> RunSummary::best_loss() const { return best ? best->val_loss : std::nullopt; }

std::optional<double> RunSummary::accuracy() const {
  if (!best) return std::nullopt;
  return best->val_sequence_accuracy ? best->val_sequence_accuracy : best->val_token_accuracy;
}

std::optional<double> RunSummary::tokens_per_second() const {
  return tokens > 0 ? std::optional(tokens / seconds) : std::nullopt;
}

Facts facts_of(const RunSummary& run) {
  const Config& config = run.config;
  const std::string steps = absl::StrCat(run.steps), planned = absl::StrCat(config.train.steps);
  return {
      {"run", say("run"), run.path},
      {"name", "", config.name},
      {"task", say("task"), config.data.task, run.has_config ? config.data.task : ""},
      {"kind", "", config.model.kind},
      {"seed", say("seed"), config.seed},
      {"state", say("state"), run.state, run.is_damaged() ? "damaged" : run.state},
      {"steps", say("steps"), run.steps,
       run.has_config && steps != planned ? absl::StrCat(steps, "/", planned) : steps},
      {"planned_steps", "", config.train.steps},
      {"best_step", say("best at step"), run.best ? std::optional(run.best->step) : std::nullopt},
      {"best_val_loss", say("best loss"), run.best_loss(), Unit::kLoss},
      {"accuracy", say("fact.right"), run.accuracy(), Unit::kShare},
      {"seconds", say("time"), run.seconds,
       run.metrics.empty() ? "" : format_number(run.seconds, Unit::kSeconds)},
      {"tokens_per_second", say("tokens a second"), run.tokens_per_second(), Unit::kWhole},
      {"changed", say("when"), when(run)}};
}

absl::StatusOr<RunSummary> summarize_run(const std::string& path) {
  if (!holds_run(path)) {
    return not_found(path, " holds no run: it has no config.toml");
  }
  RunSummary run = {.path = path};
  const fs::path folder(path);
  const std::string metrics = (folder / "metrics.jsonl").string();
  std::error_code ignored;
  const std::string newest =
      fs::exists(metrics, ignored) ? metrics : (folder / "config.toml").string();
  run.changed = fs::last_write_time(newest, ignored);
  const absl::StatusOr<Config> config = load_saved_config((folder / "config.toml").string());
  const absl::StatusOr<std::vector<Metrics>> lines = read_metrics(metrics);
  const bool has_lines = lines.ok() || absl::IsNotFound(lines.status());
  read_metrics_of(run, lines);
  run.steps = std::max(run.steps, saved_steps(folder));
  run.has_config = config.ok();
  if (config.ok()) run.config = *config;
  run.state = !config.ok() ? absl::StrCat("damaged: ", config.status().message())
              : !has_lines ? absl::StrCat("damaged: ", lines.status().message())
                           : state_of(run);
  return run;
}

absl::StatusOr<std::vector<std::string>> find_runs(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return not_found("there is no folder ", folder);
  }
  if (holds_run(folder)) return std::vector<std::string>{folder};
  std::vector<std::string> folders, none;
  std::vector<std::string> runs = runs_in(folder, folders);
  for (const std::string& inner : folders) {
    const std::vector<std::string> more = runs_in(inner, none);
    runs.insert(runs.end(), more.begin(), more.end());
  }
  std::ranges::sort(runs);
  return runs;
}

}  // namespace qkv
