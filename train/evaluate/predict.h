#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "framework/core/names.h"
#include "train/folder/loaded_run.h"

namespace qkv {

// What a model answers to one question of a file.
struct Prediction {
  std::string question;            // or text, or file of an image
  const char* asked = "question";  // which of these it is: "text", "file"
  std::string answer = {};         // or the class
  bool is_class = false;
  double probability = 0;                    // that the model gives to it
  std::optional<std::string> expected = {};  // where the file has the answer, too
  int64_t line = 0;                          // of a file of questions
  bool right() const { return expected == answer; }
};

enum class PredictionFormat { kText, kTabs, kJsonLines };
template <>
inline constexpr Named<PredictionFormat> kNames<PredictionFormat>[] = {
    {"text", PredictionFormat::kText},
    {"tsv", PredictionFormat::kTabs},
    {"json", PredictionFormat::kJsonLines}};

// A prediction as a line without its end: the answer; the question, a tab and the answer, both
// escaped (framework/core/utf8.h); or a JSON object.
std::string prediction_line(const Prediction& prediction, PredictionFormat format);

// What stands in the place of that line where a question has no answer.
std::string unanswered_line(const Prediction& prediction, const absl::Status& why,
                            PredictionFormat format);

// Sets the class that the model finds most likely for its input, and its probability. An error
// where the logits are not finite.
absl::Status classify(const LoadedRun& run, const Model& model, const Array& input,
                      Prediction& prediction);

// Answers the questions that come out of `file` one after the other, as the run's task has them in
// its files (data/records.h; `path` says the format), always with the most likely tokens. What
// cannot be answered gets an empty line, or a JSON object that says why, and is named in the end
// with its place. `print` gets each line as soon as it is known, and returns whether to go on.
absl::Status predict_file(const LoadedRun& run, const std::string& path, std::istream& file,
                          PredictionFormat format,
                          const std::function<bool(const std::string&)>& print);

}  // namespace qkv
