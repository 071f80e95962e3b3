#include "train/evaluate/evaluation_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/core/columns.h"
#include "framework/core/terminal.h"
#include "framework/core/utf8.h"
#include "train/evaluate/class_report.h"
#include "train/folder/reading_progress.h"

namespace qkv {

std::string evaluation_json(const LoadedRun& run, const Dataset& dataset, const char* part,
                            const Evaluation& e, const std::vector<AttentionShare>& attention) {
  nlohmann::ordered_json object = {{"checkpoint", run.path}, {"step", run.checkpoint.state.step},
                                   {"split", part},          {"loss", e.loss},
                                   {"tokens", e.tokens},     {"sequences", e.sequences}};
  if (dataset.has_answers()) {
    object["token_accuracy"] = e.token_accuracy;
    object["sequence_accuracy"] = e.sequence_accuracy;
    if (e.end_accuracy) object["end_accuracy"] = *e.end_accuracy;
  } else {
    object["perplexity"] = std::exp(e.loss);
    if (e.unknown_tokens == 0) object["bits_per_byte"] = e.bits_per_byte;
    if (e.unknown_tokens > 0) object["unknown_tokens"] = e.unknown_tokens;
  }
  if (e.classes() > 5) object["top5_accuracy"] = e.top5_accuracy;
  if (e.classes() > 0) {
    const std::vector<ClassScore> scores = class_scores(e);
    object["macro_f1"] = macro_f1(scores);
    object["classes"] = dataset.class_names();
    for (const ClassScore& score : scores) object["f1"].push_back(score.f1());
    for (int64_t row = 0; row < e.classes(); ++row) {
      const auto begin = e.confusion.begin() + row * e.classes();
      object["confusion"].push_back(std::vector<int64_t>(begin, begin + e.classes()));
    }
  }
  for (const AttentionShare& share : attention) {
    object["attention"].push_back({{"layer", share.layer},
                                   {"head", share.head},
                                   {"to_token", share.to_token},
                                   {"to_answer", share.to_answer}});
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string evaluation_text(const LoadedRun& run, const Dataset& dataset, const char* part,
                            const Evaluation& e) {
  const bool of_classes = e.classes() > 0;
  const char* examples = dataset.shape().is_image() ? "images" : "texts";
  std::string text = absl::StrFormat("%s, step %d, %s\n  loss %.4f over %d %s\n",
                                     printable(run.path), run.checkpoint.state.step, part, e.loss,
                                     e.tokens, of_classes ? examples : "tokens");
  if (of_classes) {
    absl::StrAppendFormat(&text, "  %s of %d %s right", format_percent(e.sequence_accuracy),
                          e.sequences, examples);
    if (e.classes() > 5) {
      absl::StrAppendFormat(&text, ", %s in the top 5", format_percent(e.top5_accuracy));
    }
    absl::StrAppendFormat(&text, ", F1 %s (the mean of the classes)\n\n%s",
                          format_percent(macro_f1(class_scores(e))),
                          class_report(e, dataset.class_names()));
  } else if (dataset.has_answers()) {
    absl::StrAppendFormat(
        &text, "  %s of %d sequences right, %s of tokens%s\n", format_percent(e.sequence_accuracy),
        e.sequences, format_percent(e.token_accuracy),
        e.end_accuracy ? absl::StrCat(", ", format_percent(*e.end_accuracy), " of ends") : "");
  } else {
    absl::StrAppendFormat(&text, "  perplexity %.2f, ", std::exp(e.loss));
    if (e.unknown_tokens == 0) {
      absl::StrAppendFormat(&text, "%.3f bits per byte\n", e.bits_per_byte);
    } else {
      absl::StrAppendFormat(
          &text, "%d of the tokens (%.1f %%) are not in the vocabulary\n", e.unknown_tokens,
          100.0 * static_cast<double>(e.unknown_tokens) / static_cast<double>(e.tokens));
    }
  }
  return text;
}

void EvaluationsReport::add(const std::string& name, const LoadedRun& run, const Dataset& dataset,
                            const char* part, const Evaluation& e) {
  const bool has_answers = dataset.has_answers();
  const bool has_tokens = has_answers && e.classes() == 0;
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
