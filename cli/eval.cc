#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "framework/core/utf8.h"
#include "train/run/evaluate.h"
#include "train/run/progress.h"

namespace qkv {
namespace {

void add_options(OptionList& options) {
  options.split();
  options.set("Overrides a value of [data]: --set data.validation_length=20");
  options.flag("json", "One JSON object");
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
  absl::StatusOr<LoadedRun> loaded = load_run(name);
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<std::unique_ptr<Dataset>> dataset = loaded->dataset(overrides);
  if (!dataset.ok()) return dataset.status();
  absl::StatusOr<Model> model = restore_model(loaded->path, loaded->checkpoint);
  if (!model.ok()) return model.status();

  const TrainOptions& train = loaded->checkpoint.config.train;
  const absl::StatusOr<Evaluation> evaluated =
      evaluate(*model, **dataset, split,
               train.eval_batch_size > 0 ? train.eval_batch_size : train.batch_size);
  if (!evaluated.ok()) return evaluated.status();
  const Evaluation& e = *evaluated;
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
  return absl::OkStatus();
}

}  // namespace

Verb eval_verb() {
  return {"eval", "RUN", "the loss and accuracy of a run's best checkpoint", add_options, run};
}

}  // namespace qkv
