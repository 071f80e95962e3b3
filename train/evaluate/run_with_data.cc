#include "train/evaluate/run_with_data.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace qkv {

absl::StatusOr<RunWithData> load_run_with_data(const std::string& name,
                                               const std::vector<std::string>& overrides,
                                               bool in_f64, const TellNote& tell,
                                               const std::string& text) {
  absl::StatusOr<LoadedRun> run = load_run(name);
  if (!run.ok()) return run.status();
  return with_data(*std::move(run), overrides, in_f64, tell, text);
}

absl::StatusOr<RunWithData> with_data(LoadedRun run, const std::vector<std::string>& overrides,
                                      bool in_f64, const TellNote& tell, const std::string& text) {
  if (in_f64) widen(run.checkpoint);
  absl::StatusOr<Model> model = run.model();  // before the data, which may take long
  if (!model.ok()) return model.status();
  absl::StatusOr<std::unique_ptr<Dataset>> dataset =
      text.empty() ? run.dataset(overrides, tell) : run.dataset_of(text, overrides, tell);
  if (!dataset.ok()) return dataset.status();
  const int64_t batch_size = run.checkpoint.config.train.validation_batch_size();
  return RunWithData{std::move(run), *std::move(model), *std::move(dataset), batch_size};
}

absl::StatusOr<Evaluation> evaluate_run(const RunWithData& run, Split split,
                                        const TellProgress& tell) {
  absl::StatusOr<Evaluation> e = evaluate(run.model, *run.dataset, split, run.batch_size, {}, tell);
  if (!e.ok() || std::isfinite(e->loss)) return e;
  return absl::DataLossError(absl::StrCat(
      run.run.path, ": the loss is ", e->loss,
      ", not a finite number: some numbers of this model are too large to compute with"));
}

}  // namespace qkv
