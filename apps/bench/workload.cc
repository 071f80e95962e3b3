#include "apps/bench/workload.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/bench/bench_shapes.h"
#include "framework/core/out_of_memory.h"
#include "framework/core/utf8.h"
#include "train/config/config.h"
#include "train/config/suggest.h"
#include "train/folder/experiment.h"
#include "train/loop/step_forecast.h"

namespace qkv {
absl::StatusOr<Workload> workload_of_config(const std::string& config,
                                            const std::vector<std::string>& overrides) {
  absl::StatusOr<LoadedConfig> loaded = load_config(config, overrides);
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = make_dataset(loaded->config);
  if (!dataset.ok()) return dataset.status();
  return Workload{
      .config = loaded->config, .description = printable(config), .dataset = *std::move(dataset)};
}

absl::StatusOr<Workload> workload_of_shape(const std::string& name,
                                           const std::vector<std::string>& overrides) {
  std::vector<std::string> names;
  for (const BenchShape& shape : bench_shapes()) {
    names.push_back(shape.name);
    if (shape.name != name) continue;
    for (const std::string& text : overrides) {
      if (!text.starts_with("data.") && !text.starts_with("model.kind")) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--set ", text, ": --shape fixes the model.kind, and its data are random"));
    }
    absl::StatusOr<LoadedConfig> loaded =
        parse_config(to_toml(config_of(shape)), absl::StrCat("--shape ", name), overrides);
    if (!loaded.ok()) return loaded.status();
    std::unique_ptr<Dataset> dataset = random_data(shape, loaded->config.seed);
    if (absl::Status s = check_patches(loaded->config.model, dataset->shape()); !s.ok()) return s;
    return Workload{
        .config = loaded->config, .description = shape.describe(), .dataset = std::move(dataset)};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--shape: there is no \"", name, "\"; there are ", quoted_list(names, "and")));
}

absl::Status check_fits(const Workload& workload) {
  const uint64_t available = available_memory();
  StepForecast forecast = foresee_step(workload.config, *workload.dataset, available);
  forecast.batch += forecast.matrices;
  forecast.evaluation = 0;
  return check_memory(forecast, available);
}

}  // namespace qkv
