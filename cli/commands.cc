#include "cli/commands.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "data/show.h"
#include "data/tasks/tasks.h"
#include "framework/core/utf8.h"
#include "framework/kernels/parallel.h"
#include "train/config/config.h"
#include "train/run/checkpoint.h"
#include "train/run/finite.h"
#include "train/run/progress.h"
#include "train/run/run_folder.h"

namespace qkv {
namespace {

struct LoadedRun {
  std::string path;  // of the checkpoint
  Checkpoint checkpoint;
};

absl::StatusOr<LoadedRun> load_run(const std::string& run) {
  absl::StatusOr<std::string> path = find_checkpoint(run);
  if (!path.ok()) return path.status();
  absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(*path);
  if (!checkpoint.ok()) return checkpoint.status();
  kernels::set_num_threads(static_cast<int>(checkpoint->config.train.threads));
  return LoadedRun{*std::move(path), *std::move(checkpoint)};
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

absl::StatusOr<std::unique_ptr<Dataset>> dataset_of(const LoadedRun& run,
                                                    const std::vector<std::string>& overrides) {
  absl::StatusOr<LoadedConfig> config =
      parse_config(to_toml(run.checkpoint.config), run.path, overrides);
  if (!config.ok()) return config.status();
  absl::StatusOr<std::unique_ptr<Dataset>> dataset =
      make_dataset(config->config.data, config->config.seed);
  if (!dataset.ok()) return dataset.status();
  if ((*dataset)->vocabulary().texts() != run.checkpoint.vocabulary.texts()) {
    return absl::FailedPreconditionError(absl::StrCat(
        run.path, ": its vocabulary is not that of the data, so its answers would mean nothing"));
  }
  if ((*dataset)->context_length() > run.checkpoint.max_length) {
    return absl::FailedPreconditionError(
        absl::StrCat(run.path, ": the model reads ", run.checkpoint.max_length,
                     " tokens at most, and these examples have ", (*dataset)->context_length()));
  }
  // Who names another file knows that it is another.
  if (config->config.data.path == run.checkpoint.config.data.path) {
    const std::string other = other_data(run.checkpoint, **dataset);
    if (!other.empty()) std::fprintf(stderr, "note: %s\n", printable(other).c_str());
  }
  return dataset;
}

absl::Status check_sampling(const GenerateOptions& options) {
  const SamplingOptions& s = options.sampling;
  if (!(s.temperature >= 0) || !std::isfinite(s.temperature)) {
    return absl::InvalidArgumentError("--temperature must be 0 or more");
  }
  if (s.top_k < 0) return absl::InvalidArgumentError("--top-k must be 0 (all tokens) or more");
  if (!(s.top_p > 0) || s.top_p > 1) {
    return absl::InvalidArgumentError("--top-p must be above 0 and at most 1");
  }
  if (options.max_new_tokens.value_or(0) < 0) {
    return absl::InvalidArgumentError("--max-new-tokens must be 0 or more");
  }
  if (options.prompt.empty()) {
    return absl::InvalidArgumentError("--prompt TEXT is needed: what should the model go on from?");
  }
  return absl::OkStatus();
}

absl::Status export_batches(const Dataset& dataset, int64_t batch_size,
                            const DataCommandOptions& options) {
  std::error_code ignored;
  if (std::filesystem::exists(options.export_file, ignored)) {
    return absl::AlreadyExistsError(absl::StrCat("--export: ", options.export_file,
                                                 " exists; remove it or choose another name"));
  }
  TensorFile file;
  for (int64_t i = 0; i < options.batches; ++i) {
    Batch batch;
    if (options.split == Split::kTraining) {
      batch = dataset.training_batch(i, batch_size);
    } else {
      const int64_t first = i * batch_size;
      if (first >= dataset.validation_size()) break;
      batch =
          dataset.validation_batch(first, std::min(batch_size, dataset.validation_size() - first));
    }
    file.tensors.push_back({absl::StrCat("inputs.", i), batch.inputs});
    file.tensors.push_back({absl::StrCat("targets.", i), batch.targets});
  }
  file.metadata["vocabulary"] = nlohmann::json(dataset.vocabulary().texts()).dump();
  if (absl::Status status = write_safetensors(options.export_file, file); !status.ok()) {
    return status;
  }
  print(absl::StrCat("wrote ", file.tensors.size() / 2, " batches to ",
                     printable(options.export_file), "\n"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunOutcome> train_command(const std::string& config,
                                         const std::vector<std::string>& overrides,
                                         const TrainingRunOptions& options) {
  absl::StatusOr<LoadedConfig> loaded = load_config(config, overrides);
  if (!loaded.ok()) return loaded.status();
  return run_training(*loaded, options);
}

absl::Status eval_command(const std::string& run, Split split,
                          const std::vector<std::string>& overrides, bool json) {
  for (const std::string& text : overrides) {
    if (text.starts_with("data.")) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--set ", text, ": eval takes the run as it was trained; only its [data] can be changed"));
  }
  absl::StatusOr<LoadedRun> loaded = load_run(run);
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = dataset_of(*loaded, overrides);
  if (!dataset.ok()) return dataset.status();
  absl::StatusOr<Decoder> model = restore_model(loaded->path, loaded->checkpoint);
  if (!model.ok()) return model.status();

  const TrainOptions& train = loaded->checkpoint.config.train;
  const absl::StatusOr<Evaluation> evaluated =
      evaluate(*model, **dataset, split,
               train.eval_batch_size > 0 ? train.eval_batch_size : train.batch_size);
  if (!evaluated.ok()) return evaluated.status();
  const Evaluation& e = *evaluated;
  const char* part = split == Split::kValidation ? "val" : "train";
  if (json) {
    nlohmann::ordered_json object = {{"checkpoint", loaded->path},
                                     {"step", loaded->checkpoint.state.step},
                                     {"split", part},
                                     {"loss", e.loss},
                                     {"tokens", e.tokens},
                                     {"sequences", e.sequences}};
    if ((*dataset)->has_answers()) {
      object["token_accuracy"] = e.token_accuracy;
      object["sequence_accuracy"] = e.sequence_accuracy;
    }
    print(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return absl::OkStatus();
  }
  std::string text =
      absl::StrFormat("%s, step %d, %s\n  loss %.4f over %d tokens\n", printable(loaded->path),
                      loaded->checkpoint.state.step, part, e.loss, e.tokens);
  if ((*dataset)->has_answers()) {
    absl::StrAppendFormat(&text, "  %s of %d sequences right, %s of tokens\n",
                          format_percent(e.sequence_accuracy), e.sequences,
                          format_percent(e.token_accuracy));
  }
  print(text);
  return absl::OkStatus();
}

absl::Status generate_command(const std::string& run, const GenerateOptions& options) {
  if (absl::Status status = check_sampling(options); !status.ok()) return status;
  absl::StatusOr<LoadedRun> loaded = load_run(run);
  if (!loaded.ok()) return loaded.status();
  const Vocabulary& vocabulary = loaded->checkpoint.vocabulary;
  absl::StatusOr<std::vector<int64_t>> prompt = vocabulary.encode(options.prompt);
  if (!prompt.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--prompt: ", prompt.status().message()));
  }
  if (prompt->empty()) return absl::InvalidArgumentError("--prompt holds no token");
  absl::StatusOr<Decoder> model = restore_model(loaded->path, loaded->checkpoint);
  if (!model.ok()) return model.status();

  print(vocabulary.decode(*prompt));
  const DataOptions& data = loaded->checkpoint.config.data;
  const bool one_line = data.task == "lines";
  const int64_t count = options.max_new_tokens.value_or(
      find_task(data.task)->answer_length(data, std::ssize(*prompt)));
  int64_t before = prompt->back();
  generate(*model, *prompt, count, options.sampling, [&](int64_t token) {
    // What the token adds after the one before it: there may be a space between them.
    const int64_t both[] = {before, token};
    const std::string text = vocabulary.decode(both).substr(vocabulary.decode({both, 1}).size());
    print(text);
    std::fflush(stdout);
    before = token;
    return !(one_line && text == "\n") && std::ferror(stdout) == 0;
  });
  print("\n");
  return absl::OkStatus();
}

absl::Status data_command(const std::string& config, const std::vector<std::string>& overrides,
                          const DataCommandOptions& options) {
  if (options.samples < 0) return absl::InvalidArgumentError("--samples must be 0 or more");
  if (options.batches < 1) return absl::InvalidArgumentError("--batches must be 1 or more");
  absl::StatusOr<LoadedConfig> loaded = load_config(config, overrides);
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<std::unique_ptr<Dataset>> dataset =
      make_dataset(loaded->config.data, loaded->config.seed);
  if (!dataset.ok()) return dataset.status();
  if (!options.export_file.empty()) {
    return export_batches(**dataset, loaded->config.train.batch_size, options);
  }
  print(describe_dataset(**dataset));
  print(absl::StrCat("\n", describe_examples(**dataset, options.split, options.samples)));
  return absl::OkStatus();
}

absl::Status config_command(const std::string& config, const std::vector<std::string>& overrides) {
  absl::StatusOr<LoadedConfig> loaded = load_config(config, overrides);
  if (!loaded.ok()) return loaded.status();
  print(to_toml_with_origins(*loaded));
  return absl::OkStatus();
}

absl::Status info_command(const std::string& file) {
  absl::StatusOr<std::string> path = find_checkpoint(file);
  if (!path.ok()) return path.status();
  absl::StatusOr<TensorFile> tensors = read_safetensors(*path);
  if (!tensors.ok()) return tensors.status();
  int64_t numbers = 0;
  std::string text;
  for (const NamedArray& t : tensors->tensors) {
    numbers += t.array.size();
    absl::StrAppendFormat(&text, "  %-60s %s", escape(t.name), t.array.describe());
    if (const int64_t count = count_not_finite(t.array)) {
      absl::StrAppend(&text, "  not finite: ", count);
    }
    absl::StrAppend(&text, "\n");
  }
  print(absl::StrCat(printable(*path), ": ", tensors->tensors.size(), " tensors, ", numbers,
                     " numbers\n", text));
  for (const auto& [key, value] : tensors->metadata) {
    print(absl::StrCat("\n[", escape(key), "]\n"));
    for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(value, "\n"), '\n')) {
      print(absl::StrCat(escape(std::string(line)), "\n"));
    }
  }
  return absl::OkStatus();
}

}  // namespace qkv
