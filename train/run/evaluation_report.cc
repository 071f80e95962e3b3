#include "train/run/evaluation_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
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

}  // namespace qkv
