#include <cmath>

#include "cli/batch_file.h"
#include "cli/kit.h"
#include "train/evaluate/evaluation_report.h"
#include "train/folder/loaded_run.h"

namespace qkv {
namespace {

void add_eval_options(OptionList& options) {
  options.split();
  options.set("Overrides a value of [data]: --set data.validation_length=20");
  options.text("text", "FILE",
               "Judges all of this file, or folder of images, instead of the run's own data");
  options.text("attention", "TOKEN",
               "Also prints, for each head, how much attention the position that predicts the "
               "answer pays to this token and to the answer");
  options.json("the results (of several runs a list)");
  add_export_options(options,
                     "Only writes a safetensors file: batches and their logits, computed in f64");
  options.rules().exclude({"export"}, {"json", "attention"}, "--export only writes a file");
  options.rules().exclude({"text"}, {"split=train"}, "nothing was trained on the text");
  options.rules().exclude({"attention"}, {"split=train"},
                          "the attention is that of validation examples");
}

absl::StatusOr<Evaluation> evaluated(const RunWithData& loaded, const std::string& name,
                                     Split split) {
  ProgressLine progress(stderr);
  const auto tell = [&](const std::string& what) { progress.show(absl::StrCat(name, ": ", what)); };
  absl::StatusOr<Evaluation> e =
      evaluate(loaded.model, *loaded.dataset, split, loaded.run.batch_size(), {}, tell);
  if (!e.ok() || std::isfinite(e->loss)) return e;
  return data_loss(
      loaded.run.path, ": the loss is ", e->loss,
      ", not a finite number: some numbers of this model are too large to compute with");
}

absl::Status eval_one(const std::string& name, Split split, const GivenOptions& given) {
  const bool exports = !given.text("export").empty();
  ASSIGN_OR_RETURN(
      const RunWithData loaded,
      with_data(load_run(name), given.set(), /*in_f64=*/exports, say_note, given.text("text")));
  const auto& [run, model, dataset] = loaded;
  if (exports) return export_batches(*dataset, split, run.batch_size(), given, &model);
  ASSIGN_OR_RETURN(const Evaluation e, evaluated(loaded, name, split));
  const std::string part = given.text("split"), token = given.text("attention");
  ASSIGN_OR_RETURN(const std::vector<AttentionShare> attention,
                   attention_to(token, run, model, *dataset, run.batch_size()));
  if (!prints_json(given)) show(evaluation_text(run, *dataset, part.c_str(), e));
  if (!prints_json(given)) show_table(attention_table(attention, printable(token)));
  return write_json(given, evaluation_json(run, *dataset, part.c_str(), e, attention));
}

// An error in one run hides no other.
absl::Status eval_many(const std::vector<std::string>& names, Split split,
                       const GivenOptions& given) {
  EvaluationsReport report;
  const std::string part = given.text("split");
  std::vector<absl::Status> mistakes;
  for (const std::string& name : names) {
    const absl::StatusOr<RunWithData> loaded =
        with_data(load_run(name), given.set(), /*in_f64=*/false, say_note, given.text("text"));
    const absl::StatusOr<Evaluation> e =
        loaded.ok() ? evaluated(*loaded, name, split) : loaded.status();
    if (!e.ok()) {
      mistakes.push_back(e.status());
    } else {
      report.add(name, loaded->run, *loaded->dataset, part.c_str(), *e);
    }
  }
  if (!report.empty()) {
    absl::Status s = show_or_write(given, report.table(), report.json());
    if (!s.ok()) mistakes.push_back(s);
  }
  return all_mistakes(mistakes);
}

absl::Status run_eval(const std::string&, const GivenOptions& given) {
  const Split split = given.split();
  for (const std::string& text : given.set()) {
    if (text.starts_with("data.")) continue;
    return invalid_argument(
        "--set ", text,
        ": eval measures the run as it was trained; only keys of [data] can be changed");
  }
  RETURN_IF_ERROR(check_export_options(given));
  const std::vector<std::string>& names = given.arguments();
  const bool exports = !given.text("export").empty(), many = names.size() > 1;
  RETURN_IF_ERROR(reject({{many && exports, "--export takes one run"},
                          {many && given.has("attention"), "--attention takes one run"}}));
  RETURN_IF_ERROR(check_json(given, many ? "[{\"checkpoint\":" : "{\"checkpoint\":"));
  return many ? eval_many(names, split, given) : eval_one(names.front(), split, given);
}

}  // namespace

Verb eval_verb() {
  return {{"eval", "RUN…", "measures the loss and accuracy of runs' best checkpoints"},
          add_eval_options,
          run_eval};
}

}  // namespace qkv
