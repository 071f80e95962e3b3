#include <cmath>

#include "absl/strings/str_cat.h"
#include "cli/batch_file.h"
#include "cli/verbs.h"
#include "framework/core/utf8.h"
#include "train/run/attention_share.h"
#include "train/run/evaluate.h"
#include "train/run/evaluation_report.h"
#include "train/run/loaded_run.h"

namespace qkv {
namespace {

void add_eval_options(OptionList& options) {
  options.split();
  options.set("Overrides a value of [data]: --set data.validation_length=20");
  options.text("attention", "TOKEN",
               "Also prints, for each head, how much attention the position that predicts the "
               "answer pays to this token and to the answer");
  options.flag("json", "Prints one JSON object");
  add_export_options(options,
                     "Only writes a safetensors file: batches and their logits, computed in f64");
}

// A line for each head.
absl::StatusOr<std::string> attention_text(const LoadedRun& run, const Model& model,
                                           const Dataset& dataset, const std::string& text,
                                           int64_t batch_size) {
  const absl::StatusOr<std::vector<int64_t>> token = run.encode("attention", text);
  if (!token.ok()) return token.status();
  if (token->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--attention needs one token, not ", token->size()));
  }
  const std::vector<AttentionShare> shares =
      attention_shares(model, dataset, token->front(), batch_size);
  if (shares.empty()) {
    return absl::FailedPreconditionError(
        "--attention: this model has no attention from an answer to its question");
  }
  return attention_table(shares, printable(text));
}

absl::Status run_eval(const std::string& name, const GivenOptions& given) {
  Split split = Split::kValidation;
  if (absl::Status status = given.split(split); !status.ok()) return status;
  const std::vector<std::string> overrides = given.set();
  for (const std::string& text : overrides) {
    if (text.starts_with("data.")) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--set ", text,
        ": eval measures the run as it was trained; only keys of [data] can be changed"));
  }
  if (absl::Status status = check_export_options(given); !status.ok()) return status;
  const bool exports = !given.text("export").empty();
  if (exports && (given.has("json") || given.has("attention"))) {
    return absl::InvalidArgumentError(
        "--export only writes a file; it takes neither --json nor --attention");
  }
  absl::StatusOr<LoadedRun> loaded = load_run(name);
  if (!loaded.ok()) return loaded.status();
  if (exports) widen(loaded->checkpoint);
  const absl::StatusOr<Model> model = loaded->model();  // before the data, which may take long
  if (!model.ok()) return model.status();
  const absl::StatusOr<std::unique_ptr<Dataset>> dataset = loaded->dataset(overrides, say_note);
  if (!dataset.ok()) return dataset.status();

  const TrainOptions& train = loaded->checkpoint.config.train;
  const int64_t batch_size = train.eval_batch_size > 0 ? train.eval_batch_size : train.batch_size;
  if (exports) return export_batches(**dataset, split, batch_size, given, &*model);
  const absl::StatusOr<Evaluation> evaluated = evaluate(*model, **dataset, split, batch_size);
  if (!evaluated.ok()) return evaluated.status();
  const Evaluation& e = *evaluated;
  if (!std::isfinite(e.loss)) {
    return absl::DataLossError(absl::StrCat(
        loaded->path, ": the loss is ", e.loss,
        ", not a finite number: some numbers of this model are too large to compute with"));
  }
  const char* part = split == Split::kValidation ? "val" : "train";
  if (given.has("json")) {
    print(evaluation_json(*loaded, **dataset, part, e));
    return absl::OkStatus();
  }
  print(evaluation_text(*loaded, **dataset, part, e));
  const std::string token = given.text("attention");
  if (token.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> table =
      attention_text(*loaded, *model, **dataset, token, batch_size);
  if (table.ok()) print(*table);
  return table.status();
}

}  // namespace

Verb eval_verb() {
  return {{"eval", "RUN", "measures the loss and accuracy of a run's best checkpoint"},
          add_eval_options,
          run_eval};
}

}  // namespace qkv
