#include "cli/run.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "data/tasks/tasks.h"
#include "framework/core/utf8.h"
#include "framework/kernels/parallel.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace qkv {

absl::StatusOr<LoadedRun> load_run(const std::string& run) {
  absl::StatusOr<std::string> path = find_checkpoint(run);
  if (!path.ok()) return path.status();
  absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(*path);
  if (!checkpoint.ok()) return checkpoint.status();
  kernels::set_num_threads(static_cast<int>(checkpoint->config.train.threads));
  return LoadedRun{*std::move(path), *std::move(checkpoint)};
}

absl::StatusOr<std::unique_ptr<Dataset>> LoadedRun::dataset(
    const std::vector<std::string>& overrides) const {
  absl::StatusOr<Config> config = parse_saved_config(to_toml(checkpoint.config), path, overrides);
  if (!config.ok()) return config.status();
  absl::StatusOr<std::unique_ptr<Dataset>> data = make_dataset(config->data, config->seed);
  if (!data.ok()) return data.status();
  if ((*data)->vocabulary().texts() != checkpoint.vocabulary.texts()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": its vocabulary is not that of the data, so its answers would mean nothing"));
  }
  const DataShape shape = (*data)->shape(), &read = checkpoint.data;
  if (shape.height != read.height || shape.width != read.width) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": the model reads images of ", read.height, " x ", read.width,
                     " pixels, and these have ", shape.height, " x ", shape.width));
  }
  if ((*data)->context_length() > checkpoint.data.max_length) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": the model reads ", checkpoint.data.max_length,
                     " tokens at most, and these examples have ", (*data)->context_length()));
  }
  // Who names another file knows that it is another.
  if (config->data.path == checkpoint.config.data.path) {
    const std::string other = other_data(checkpoint, **data);
    if (!other.empty()) std::fprintf(stderr, "note: %s\n", printable(other).c_str());
  }
  return data;
}

}  // namespace qkv
