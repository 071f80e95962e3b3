#include "cli/run.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "framework/core/utf8.h"
#include "framework/kernels/parallel.h"
#include "train/config/config.h"
#include "train/run/experiment.h"
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
  absl::StatusOr<std::unique_ptr<Dataset>> data = make_dataset(*config);
  if (!data.ok()) return data.status();
  if ((*data)->vocabulary().texts() != checkpoint.vocabulary.texts()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": its vocabulary is not that of the data, so its answers would mean nothing"));
  }
  const DataShape now = (*data)->shape(), &then = checkpoint.data;
  if (now.height != then.height || now.width != then.width) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": the model reads images of ", then.height, " x ", then.width,
                     " pixels, and these have ", now.height, " x ", now.width));
  }
  for (const auto length : {&DataShape::max_length, &DataShape::source_length}) {
    if (now.*length <= then.*length || reads_any_length(checkpoint.config.model)) continue;
    return absl::FailedPreconditionError(absl::StrCat(path, ": the model reads ", then.*length,
                                                      " tokens at most, and these examples have ",
                                                      now.*length));
  }
  // Who names another file knows that it is another.
  if (config->data.path == checkpoint.config.data.path) {
    const std::string other = other_data(checkpoint, **data);
    if (!other.empty()) std::fprintf(stderr, "note: %s\n", printable(other).c_str());
  }
  return data;
}

}  // namespace qkv
