#include "lessons/labs/trained.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/io/file_descriptor.h"
#include "framework/io/files.h"
#include "train/config/config.h"
#include "train/run/checkpoint.h"
#include "train/run/experiment.h"
#include "train/run/metrics.h"
#include "train/run/run_files.h"
#include "train/run/trainer.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// What a lab does not say otherwise.
constexpr const char* kBase = R"(
[data]
validation_examples = 200
[model]
num_layers = 1
d_model = 32
d_ff = 64
[optimizer]
learning_rate = 5e-3
[train]
batch_size = 32
)";

constexpr const char* kUnfinished = ".unfinished-";  // in the names of folders

void require(const absl::Status& status) {
  if (!status.ok()) fail(std::string(status.message()));
}

template <class T>
T required(absl::StatusOr<T> result) {
  require(result.status());
  return *std::move(result);
}

// The folder of this very config.
std::string folder_of(const LabContext& lab, const Config& config) {
  return absl::StrCat(lab.runs(), "/", config.name, "-",
                      absl::StrFormat("%016x", stable_hash(to_toml(config))));
}

// A name beside the folder of a run that nobody else has, and what is put there: it goes unless it
// was renamed before.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(const std::string& run)
      : path_(absl::StrFormat("%s%s%08x", run, kUnfinished, std::random_device()())) {}
  ~UnfinishedFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

FileDescriptor opened_folder(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// What trainings left behind that were killed: whoever trains into a folder holds its lock.
void remove_abandoned(const std::string& runs) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs, ignored)) {
    if (!absl::StrContains(entry.path().filename().string(), kUnfinished)) continue;
    const FileDescriptor folder = opened_folder(entry.path());
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
  }
}

// One process at a time: so that none takes a folder for abandoned that has no lock yet.
RunFolder create_unfinished(const std::string& runs, const std::string& path,
                            const Config& config) {
  require(make_folder(runs));
  const FileDescriptor lock = opened_folder(runs);
  ::flock(lock.get(), LOCK_EX);
  remove_abandoned(runs);
  return required(RunFolder::create(path, config));
}

// "reverse, training 7, seed 2 of 5"
std::string name_of_training(const LabContext& lab, const Config& config) {
  return absl::StrCat(config.name, ", training ", lab.count_training(), ", seed ", config.seed,
                      " of ", lab.seeds().size());
}

void train_into(const RunFolder& folder, const LabContext& lab, const Config& config,
                const Dataset& data) {
  const std::string name = name_of_training(lab, config);
  RunFiles files;
  require(files.open(folder));
  Trainer trainer(config, data);
  const int64_t steps = config.train.steps;
  for (int64_t step = 1; step <= steps; ++step) {
    const StepResult result = required(trainer.step());
    StepReport report;
    report.logged = true;
    report.metrics.step = step;
    report.metrics.loss = result.loss;
    report.metrics.grad_norm = result.grad_norm;
    require(files.report(report));
    if (step % config.train.log_interval == 0) {
      lab.say(absl::StrFormat("%s: step %d of %d, loss %.4f", name, step, steps, result.loss));
    }
  }
  require(files.before_checkpoint());
  RunState state;
  state.step = steps;
  require(save_checkpoint(folder.last_checkpoint(), config, data, trainer.model(),
                          trainer.optimizer(), state));
}

absl::Status not_of_it(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(path, " is not of this training"));
}

// The losses and norms of every step.
absl::Status read_steps(const std::string& path, Trained& trained) {
  const absl::StatusOr<std::vector<Metrics>> lines = read_metrics(path);
  if (!lines.ok()) return lines.status();
  if (std::ssize(*lines) != trained.config.train.steps) return not_of_it(path);
  for (const Metrics& metrics : *lines) {
    if (!metrics.loss || !metrics.grad_norm) return not_of_it(path);
    trained.losses.push_back(*metrics.loss);
    trained.grad_norms.push_back(*metrics.grad_norm);
  }
  return absl::OkStatus();
}

// Whether training begins today as it did then: with another program, or on a processor that rounds
// otherwise, it would come to another model. The second step shows what the first one changed.
bool begins_alike(const Trained& trained) {
  Trainer trainer(trained.config, *trained.data);
  for (size_t i = 0; i < std::min<size_t>(2, trained.losses.size()); ++i) {
    const StepResult result = required(trainer.step());
    if (result.loss != trained.losses[i] || result.grad_norm != trained.grad_norms[i]) return false;
  }
  return true;
}

// What a training of this config came to. An error where a part of the folder is missing, cannot be
// read, or is of another training.
absl::StatusOr<Trained> read_trained(const std::string& path, const Config& config) {
  const std::string last = path + "/checkpoints/last.safetensors", toml = path + "/config.toml";
  const absl::StatusOr<std::string> stored = read_regular_file(toml);
  if (!stored.ok()) return stored.status();
  if (*stored != to_toml(config)) return not_of_it(toml);
  const absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(last);
  if (!checkpoint.ok()) return checkpoint.status();
  std::unique_ptr<Dataset> data = required(make_dataset(config));
  if (to_toml(checkpoint->config) != to_toml(config) || !other_data(*checkpoint, *data).empty()) {
    return not_of_it(last);
  }
  absl::StatusOr<Model> model = restore_model(last, *checkpoint);
  if (!model.ok()) return model.status();
  Trained trained = {.config = config,
                     .data = std::move(data),
                     .model = *std::move(model),
                     .losses = {},
                     .grad_norms = {},
                     .validation = {}};
  if (absl::Status s = read_steps(path + "/metrics.jsonl", trained); !s.ok()) return s;
  if (!begins_alike(trained)) return not_of_it(path);
  return trained;
}

// Another process may train the same at the same time: each has its model in a folder of its own,
// and whichever is first stays. What stands there and cannot be used makes room.
void put_in_place(const std::string& finished, const std::string& path, const Config& config) {
  std::error_code error;
  fs::rename(finished, path, error);
  if (!error || read_trained(path, config).ok()) return;
  const UnfinishedFolder unusable(path);
  fs::rename(path, unusable.path(), error);
  fs::rename(finished, path, error);
  if (error && !fs::exists(path)) {
    fail(absl::StrCat("cannot rename ", finished, " to ", path, ": ", error.message()));
  }
}

Trained train(const std::string& path, const LabContext& lab, const Config& config) {
  const UnfinishedFolder unfinished(path);
  const RunFolder folder = create_unfinished(lab.runs(), unfinished.path(), config);
  train_into(folder, lab, config, *required(make_dataset(config)));
  Trained trained = required(read_trained(folder.path(), config));
  put_in_place(folder.path(), path, config);
  return trained;
}

}  // namespace

Config lab_config(const LabContext& lab, uint64_t seed, const std::vector<std::string>& settings) {
  constexpr int64_t kWarmup = 20;
  std::vector<std::string> all = {absl::StrCat("seed=", seed),
                                  absl::StrCat("train.steps=", lab.integer("steps"))};
  all.insert(all.end(), settings.begin(), settings.end());
  Config config = required(parse_config(kBase, "lab", all)).config;
  config.optimizer.warmup_steps = std::min(kWarmup, config.train.steps);
  return config;
}

Trained train_or_reuse(const LabContext& lab, const Config& config) {
  const std::string path = folder_of(lab, config);
  absl::StatusOr<Trained> reused = read_trained(path, config);
  Trained trained = reused.ok() ? *std::move(reused) : train(path, lab, config);
  trained.validation =
      required(evaluate(trained.model, *trained.data, Split::kValidation, config.train.batch_size));
  return trained;
}

std::vector<Trained> train_over_seeds(const LabContext& lab,
                                      const std::vector<std::string>& settings) {
  return over_seeds(
      lab, [&](uint64_t seed) { return train_or_reuse(lab, lab_config(lab, seed, settings)); });
}

Model untrained(const Trained& trained) {
  return make_model(trained.config, trained.data->shape());
}

}  // namespace qkv
