#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/batch_file.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "framework/core/utf8.h"
#include "train/run/attention_share.h"
#include "train/run/evaluate.h"
#include "train/run/progress.h"

namespace qkv {
namespace {

void add_options(OptionList& options) {
  options.split();
  options.set("Overrides a value of [data]: --set data.validation_length=20");
  options.text("attention", "TOKEN",
               "Also prints how much attention each head gives this token, and the answer, where "
               "the model answers");
  options.flag("json", "Prints one JSON object");
  add_export_options(
      options, "Only writes batches and their logits, computed in f64, to a safetensors file");
}

// A line for each head.
absl::Status print_attention(const Model& model, const Dataset& dataset, const std::string& text,
                             int64_t batch_size) {
  const Vocabulary& vocabulary = dataset.vocabulary();
  const absl::StatusOr<std::vector<int64_t>> token = vocabulary.encode(text);
  if (!token.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--attention: ", token.status().message()));
  }
  if (token->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--attention: one token is needed, not ", token->size()));
  }
  const std::vector<AttentionShare> shares =
      attention_shares(model, dataset, token->front(), batch_size);
  if (shares.empty()) {
    return absl::FailedPreconditionError(
        "--attention: this model has no attention from an answer to its question");
  }
  std::string table =
      absl::StrFormat("  %-36s %4s  %9s  %9s\n", "attention from the answer's position", "head",
                      "to " + printable(text), "to answer");
  for (const AttentionShare& share : shares) {
    absl::StrAppendFormat(&table, "  %-36s %4d  %9s  %9s\n", share.layer, share.head,
                          format_percent(share.to_token), format_percent(share.to_answer));
  }
  print(table);
  return absl::OkStatus();
}

absl::Status run(const std::string& name, const GivenOptions& given) {
  Split split = Split::kValidation;
  if (absl::Status status = given.split(split); !status.ok()) return status;
  const std::vector<std::string> overrides = given.set();
  for (const std::string& text : overrides) {
    if (text.starts_with("data.")) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--set ", text, ": eval takes the run as it was trained; only its [data] can be changed"));
  }
  if (absl::Status status = check_export_options(given); !status.ok()) return status;
  const bool exports = !given.text("export").empty();
  if (exports && (given.has("json") || given.has("attention"))) {
    return absl::InvalidArgumentError(
        "--export only writes a file; it takes neither --json nor --attention");
  }
  absl::StatusOr<LoadedRun> loaded = load_run(name);
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = loaded->dataset(overrides);
  if (!dataset.ok()) return dataset.status();
  if (exports) widen(loaded->checkpoint);
  absl::StatusOr<Model> model = restore_model(loaded->path, loaded->checkpoint);
  if (!model.ok()) return model.status();

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
  const DataShape shape = (*dataset)->shape();
  std::string text =
      absl::StrFormat("%s, step %d, %s\n  loss %.4f over %d %s\n", printable(loaded->path),
                      loaded->checkpoint.state.step, part, e.loss, e.tokens, shape.unit());
  if (shape.is_image()) {
    absl::StrAppendFormat(&text, "  %s of %d images right\n", format_percent(e.sequence_accuracy),
                          e.sequences);
  } else if ((*dataset)->has_answers()) {
    absl::StrAppendFormat(&text, "  %s of %d sequences right, %s of tokens\n",
                          format_percent(e.sequence_accuracy), e.sequences,
                          format_percent(e.token_accuracy));
  }
  print(text);
  const std::string token = given.text("attention");
  if (token.empty()) return absl::OkStatus();
  return print_attention(*model, **dataset, token, batch_size);
}

}  // namespace

Verb eval_verb() {
  return {{"eval", "RUN", "measures the loss and accuracy of a run's best checkpoint"},
          add_options,
          run};
}

}  // namespace qkv
