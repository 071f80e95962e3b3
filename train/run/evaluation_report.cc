#include "train/run/evaluation_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/core/columns.h"
#include "framework/core/terminal.h"
#include "framework/core/utf8.h"
#include "train/run/progress.h"

namespace qkv {

std::string evaluation_json(const LoadedRun& run, const Dataset& dataset, const char* part,
                            const Evaluation& e) {
  nlohmann::ordered_json object = {{"checkpoint", run.path}, {"step", run.checkpoint.state.step},
                                   {"split", part},          {"loss", e.loss},
                                   {"tokens", e.tokens},     {"sequences", e.sequences}};
  if (dataset.has_answers()) {
    object["token_accuracy"] = e.token_accuracy;
    object["sequence_accuracy"] = e.sequence_accuracy;
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string evaluation_text(const LoadedRun& run, const Dataset& dataset, const char* part,
                            const Evaluation& e) {
  std::string text =
      absl::StrFormat("%s, step %d, %s\n  loss %.4f over %d %s\n", printable(run.path),
                      run.checkpoint.state.step, part, e.loss, e.tokens, dataset.shape().unit());
  if (dataset.shape().is_image()) {
    absl::StrAppendFormat(&text, "  %s of %d images right\n", format_percent(e.sequence_accuracy),
                          e.sequences);
  } else if (dataset.has_answers()) {
    absl::StrAppendFormat(&text, "  %s of %d sequences right, %s of tokens\n",
                          format_percent(e.sequence_accuracy), e.sequences,
                          format_percent(e.token_accuracy));
  }
  return text;
}

void EvaluationsReport::add(const std::string& name, const LoadedRun& run, const Dataset& dataset,
                            const char* part, const Evaluation& e) {
  const bool has_answers = dataset.has_answers();
  const bool has_tokens = has_answers && !dataset.shape().is_image();
  rows_.push_back({printable(name), run.checkpoint.config.data.task,
                   absl::StrCat(run.checkpoint.state.step), absl::StrFormat("%.4f", e.loss),
                   has_answers ? format_percent(e.sequence_accuracy) : "",
                   has_tokens ? format_percent(e.token_accuracy) : "", absl::StrCat(e.sequences)});
  std::string object = evaluation_json(run, dataset, part, e);
  object.pop_back();  // the end of its line
  objects_.push_back(std::move(object));
}

std::string EvaluationsReport::table() const {
  std::vector<std::vector<std::string>> rows = {
      {"run", "task", "step", "loss", "right", "tokens", "examples"}};
  rows.insert(rows.end(), rows_.begin(), rows_.end());
  return fitted_table(std::move(rows), {.left = 2}, {"task", "examples", "step", "tokens"},
                      text_columns());
}

std::string EvaluationsReport::json() const {
  return absl::StrCat("[", absl::StrJoin(objects_, ",\n "), "]\n");
}

}  // namespace qkv
