#include "train/evaluate/predict.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "data/file_mistakes.h"
#include "data/tasks/tasks.h"
#include "framework/core/utf8.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "train/generate/generate.h"
#include "train/generate/prompts.h"

namespace qkv {
namespace {

std::string json_line(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Predictor {
 public:
  Predictor(const LoadedRun& run, const Model& model, const TaskKind& task)
      : run_(run), model_(model), task_(task), form_(form_of(run.checkpoint.config.model.kind)) {}

  absl::StatusOr<Prediction> answer(const Record& record) const {
    const absl::StatusOr<Prompt> prompt = read_prompt(run_, "the question", record.question);
    if (!prompt.ok()) return prompt.status();
    const Tokens& tokens = prompt->tokens;
    absl::Status status = check_length("the question", std::ssize(tokens), run_.longest_prompt());
    if (!status.ok()) return status;
    Prediction prediction = {
        .question = record.question, .expected = record.answer, .line = record.line};
    if (form_ != DataForm::kClass) return write(tokens, std::move(prediction));
    prediction.asked = "text";
    status = classify(run_, model_, Array::of({1, std::ssize(tokens)}, tokens), prediction);
    if (!status.ok()) return status;
    return prediction;
  }

 private:
  // Without the token that ends an answer; where the model reads no further, the answer ends there.
  absl::StatusOr<Prediction> write(const Tokens& prompt, Prediction prediction) const {
    const Vocabulary& vocabulary = run_.checkpoint.vocabulary;
    absl::StatusOr<Tokens> answer = most_likely_answer(run_, model_, prompt, kLongestAnswer);
    if (!answer.ok()) return answer.status();
    const auto last = static_cast<size_t>(answer->back());
    if (vocabulary.texts()[last] == task_.last_token) answer->pop_back();
    prediction.answer = vocabulary.decode(*answer);
    return prediction;
  }

  static constexpr int64_t kLongestAnswer = 1024;

  const LoadedRun& run_;
  const Model& model_;
  const TaskKind& task_;
  DataForm form_;
};

}  // namespace

absl::Status classify(const LoadedRun& run, const Model& model, const Array& input,
                      Prediction& prediction) {
  const NoGrad no_grad;
  const std::vector<double> shares =
      softmax(model.next_logits(input, Array(), nullptr)).to_vector();
  const auto most = std::ranges::max_element(shares);
  if (!std::isfinite(*most)) return absl::DataLossError("the logits are not all finite numbers");
  prediction.answer = run.checkpoint.answers()[static_cast<size_t>(most - shares.begin())];
  prediction.is_class = true;
  prediction.probability = *most;
  return absl::OkStatus();
}

std::string prediction_line(const Prediction& p, PredictionFormat format) {
  if (format == PredictionFormat::kText) return escape(p.answer);
  if (format == PredictionFormat::kTabs) {
    return absl::StrCat(escape(p.question), "\t", escape(p.answer));
  }
  nlohmann::ordered_json object;
  if (p.line > 0) object["line"] = p.line;
  object[p.asked] = p.question;
  object[p.is_class ? "class" : "answer"] = p.answer;
  if (p.is_class) object["probability"] = p.probability;
  if (p.expected) {
    object["expected"] = *p.expected;
    object["right"] = p.right();
  }
  return json_line(object);
}

std::string unanswered_line(const Prediction& p, const absl::Status& why, PredictionFormat format) {
  if (format != PredictionFormat::kJsonLines) return "";
  nlohmann::ordered_json object;
  if (p.line > 0) {
    object["line"] = p.line;
  } else {
    object[p.asked] = p.question;
  }
  object["error"] = std::string(why.message());
  return json_line(object);
}

absl::Status predict_file(const LoadedRun& run, const std::string& path, std::istream& file,
                          PredictionFormat format,
                          const std::function<bool(const std::string&)>& print) {
  const DataOptions& data = run.checkpoint.config.data;
  const TaskKind& task = *find_task(data.task);
  if (!task.records) {
    return absl::InvalidArgumentError(absl::StrCat(
        run.path,
        ": predict answers a run of the task \"pairs\" or \"classes\", or of images; this "
        "one has learned \"",
        data.task, "\", which generate asks"));
  }
  const absl::StatusOr<Model> model = run.model();
  if (!model.ok()) return model.status();
  const Predictor predictor(run, *model, task);
  RecordLayout layout = task.records->layout(data);
  layout.answer_needed = false;
  RecordReader reader(path, layout, [&]() -> std::optional<std::string> {
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    return line;
  });
  FileMistakes mistakes;
  while (std::optional<absl::StatusOr<Record>> record = reader.next()) {
    const absl::StatusOr<Prediction> prediction =
        record->ok() ? predictor.answer(**record) : record->status();
    if (!prediction.ok() && !absl::IsInvalidArgument(prediction.status())) {
      return absl::Status(prediction.status().code(),
                          absl::StrCat(run.path, ": ", prediction.status().message()));
    }
    std::string line;
    if (prediction.ok()) {
      line = prediction_line(*prediction, format);
    } else {
      mistakes.add(path, reader.line(), std::string(prediction.status().message()));
      line = unanswered_line({.question = "", .line = reader.line()}, prediction.status(), format);
    }
    if (!print(line + "\n")) return absl::OkStatus();
  }
  if (file.bad()) return absl::InternalError(absl::StrCat("cannot read ", path));
  return mistakes.status();
}

}  // namespace qkv
