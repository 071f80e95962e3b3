#include "apps/runs/run_summary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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

absl::StatusOr<RunSummary> summarize_run(const std::string& path) {
  if (!holds_run(path)) {
    return absl::NotFoundError(absl::StrCat(path, " holds no run: it has no config.toml"));
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
    return absl::NotFoundError(absl::StrCat("there is no folder ", folder));
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
