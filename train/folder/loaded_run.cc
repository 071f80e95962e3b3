#include "train/folder/loaded_run.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "data/file.h"
#include "data/tasks/tasks.h"
#include "framework/kernels/parallel.h"
#include "models/mixer_kind.h"
#include "train/config/config.h"
#include "train/config/config_fields.h"
#include "train/folder/experiment.h"
#include "train/folder/reading_progress.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

void tell_all(const Dataset& dataset, const TellNote& tell) {
  for (const std::string& note : dataset.notes()) tell(note);
}

int64_t limit_of(const Checkpoint& checkpoint, int64_t length) {
  const bool has_limit = !reads_any_length(checkpoint.config.model);
  return has_limit ? length : std::numeric_limits<int64_t>::max();
}

absl::Status check_fits(const LoadedRun& run, const DataShape& now) {
  const auto& [path, checkpoint] = run;
  const DataShape& then = checkpoint.data;
  if (now.height != then.height || now.width != then.width) {
    return failed_precondition(path, ": the model reads images of ", then.height, " x ", then.width,
                               " pixels, but these have ", now.height, " x ", now.width);
  }
  if (now.channels != then.channels) {
    return failed_precondition(path, ": the model reads images of ", then.channels,
                               then.channels == 1 ? " channel" : " channels", ", but these have ",
                               now.channels);
  }
  for (const auto length : {&DataShape::max_length, &DataShape::source_length}) {
    if (now.*length <= then.*length || reads_any_length(checkpoint.config.model)) continue;
    return failed_precondition(path, ": the model reads at most ", then.*length,
                               " tokens, but these examples have ", now.*length);
  }
  return absl::OkStatus();
}

// A file in the folder of the run comes first, then one where it was trained; what --set names
// begins at the current directory, as all does where there is none.
absl::StatusOr<Config> config_here(const LoadedRun& run,
                                   const std::vector<std::string>& overrides) {
  const auto& [path, checkpoint] = run;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  Config config = checkpoint.config;
  for (const Field& field : config_fields(config)) {
    if (!field.limits.is_path) continue;
    std::vector<std::string> paths = split_paths(field.text());
    for (std::string& path_of_file : paths) {
      if (path_of_file.starts_with('/')) continue;
      for (const std::filesystem::path& begin :
           {folder / "..", std::filesystem::path(checkpoint.trained_in)}) {
        const std::filesystem::path file = begin / path_of_file;
        std::error_code ignored;
        if (begin.empty() || !std::filesystem::exists(file, ignored)) continue;
        path_of_file = file.lexically_normal().string();
        break;
      }
    }
    field.set_text(join_paths(paths));
  }
  return parse_saved_config(to_toml(config), path, overrides);
}

absl::StatusOr<std::unique_ptr<Dataset>> dataset_of(const std::string& file, const LoadedRun& run,
                                                    const std::vector<std::string>& overrides,
                                                    const TellNote& tell) {
  const auto& [path, checkpoint] = run;
  ASSIGN_OR_RETURN(Config config, parse_saved_config(to_toml(checkpoint.config), path, overrides));
  const TaskKind& task = *find_task(config.data.task);
  if (!task.judge) {
    return invalid_argument(path, ": the task \"", task.name,
                            "\" has no text that could be replaced by another");
  }
  config.data.path = file;
  const DataShape& shape = checkpoint.data;
  KnownData known = {.vocabulary = checkpoint.vocabulary,
                     .class_names = checkpoint.answers(),
                     .form = form_of(config.model.kind),
                     .most = shape};
  known.most.max_length = std::min(limit_of(checkpoint, shape.max_length), kMaxLength);
  known.most.source_length = std::min(limit_of(checkpoint, shape.source_length), kMaxLength);
  ReadingProgress progress;
  absl::StatusOr<std::unique_ptr<Dataset>> data = task.judge(config.data, known, progress.wait());
  if (data.ok()) tell_all(**data, tell);
  return data;
}

absl::StatusOr<std::unique_ptr<Dataset>> dataset_of(const LoadedRun& run,
                                                    const std::vector<std::string>& overrides,
                                                    const TellNote& tell) {
  const auto& [path, checkpoint] = run;
  // A user who names another file needs no note that it is another one.
  const bool names_another = std::ranges::any_of(
      overrides, [](const std::string& o) { return o.starts_with("data.path="); });
  if (!checkpoint.imported_from.empty() && !names_another) {
    return failed_precondition(path, ": holds weights without the data that they learned from; ",
                               checkpoint.data.is_image()
                                   ? "name some with --set data.path=FOLDER, or begin a run with "
                                     "them: qkv train CONFIG --from RUN"
                                   : "judge a text with --text FILE");
  }
  ASSIGN_OR_RETURN(const Config config, config_here(run, overrides));
  // Long examples take long to make: where the length is known before, check it first.
  if (const TaskKind& task = *find_task(config.data.task); task.questions) {
    const DataShape shape = shape_of(task.questions(config.data), form_of(config.model.kind));
    RETURN_IF_ERROR(check_fits(run, shape));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, make_dataset(config));
  if (data->vocabulary() != checkpoint.vocabulary) {
    return failed_precondition(
        path,
        ": the vocabulary of the run differs from that of the data; the answers would "
        "be meaningless");
  }
  RETURN_IF_ERROR(check_fits(run, data->shape()));
  tell_all(*data, tell);
  if (!names_another) {
    const std::string other = other_data(checkpoint, *data);
    if (!other.empty()) tell(other);
  }
  return data;
}

}  // namespace

absl::StatusOr<LoadedRun> load_run(const std::string& run) {
  ASSIGN_OR_RETURN(std::string path, find_checkpoint(run));
  ASSIGN_OR_RETURN(Checkpoint checkpoint, load_checkpoint(path));
  kernels::set_num_threads(static_cast<int>(checkpoint.config.train.threads));
  return LoadedRun{std::move(path), std::move(checkpoint)};
}

void widen(Checkpoint& checkpoint) {
  checkpoint.config.train.precision = Precision::kF64;
  for (NamedArray& named : checkpoint.arrays) {
    if (named.array.dtype() != DType::f32) continue;
    named.array = Array::of(named.array.shape(), DType::f64, named.array.to_vector());
  }
}

absl::StatusOr<std::vector<int64_t>> LoadedRun::encode(const std::string& option,
                                                       const std::string& text) const {
  absl::StatusOr<std::vector<int64_t>> tokens = checkpoint.vocabulary.encode(text);
  if (!tokens.ok()) {
    return invalid_argument("--", option, ": ", tokens.status().message());
  }
  if (tokens->empty()) {
    return invalid_argument("--", option, " is empty: it needs at least one token");
  }
  return tokens;
}

int64_t LoadedRun::longest_prompt() const {
  const bool has_source = form_of(checkpoint.config.model.kind) == DataForm::kSourceTarget;
  return limit_of(checkpoint,
                  has_source ? checkpoint.data.source_length : checkpoint.data.max_length);
}

int64_t LoadedRun::longest_sequence() const {
  return limit_of(checkpoint, checkpoint.data.max_length);
}

absl::Status check_length(const std::string& what, int64_t length, int64_t longest) {
  if (length <= longest) return absl::OkStatus();
  return invalid_argument(what, " has ", length, " tokens; this model reads at most ", longest);
}

absl::StatusOr<RunWithData> with_data(absl::StatusOr<LoadedRun> run,
                                      const std::vector<std::string>& overrides, bool in_f64,
                                      const TellNote& tell, const std::string& text) {
  if (!run.ok()) return run.status();
  if (in_f64) widen(run->checkpoint);
  absl::StatusOr<Model> model = run->model();  // before the data, which may take long
  if (!model.ok()) return model.status();
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset, text.empty()
                                                         ? dataset_of(*run, overrides, tell)
                                                         : dataset_of(text, *run, overrides, tell));
  return RunWithData{*std::move(run), *std::move(model), std::move(dataset)};
}

}  // namespace qkv
