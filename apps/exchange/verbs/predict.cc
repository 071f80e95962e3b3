#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/kit.h"
#include "data/file.h"
#include "data/images/image_files.h"
#include "data/tasks/tasks.h"
#include "framework/graph/modes.h"
#include "framework/ops/ops.h"
#include "train/folder/loaded_run.h"
#include "train/generate/generate.h"
#include "train/generate/prompts.h"

namespace qkv {

enum class PredictionFormat { kText, kTabs, kJsonLines };
template <>
inline constexpr Named<PredictionFormat> kNames<PredictionFormat>[] = {
    {"text", PredictionFormat::kText},
    {"tsv", PredictionFormat::kTabs},
    {"json", PredictionFormat::kJsonLines}};

namespace {

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

std::string json_line(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Sets the class that the model finds most likely for its input, and its probability. An error
// where the logits are not finite.
absl::Status classify(const LoadedRun& run, const Model& model, const Array& input,
                      Prediction& prediction) {
  const NoGrad no_grad;
  const std::vector<double> shares =
      softmax(model.next_logits(input, Array(), nullptr)).to_vector();
  const auto most = std::ranges::max_element(shares);
  if (!std::isfinite(*most)) return absl::DataLossError("the logits are not all finite numbers");
  prediction.answer = run.checkpoint.answers()[most - shares.begin()];
  prediction.is_class = true;
  prediction.probability = *most;
  return absl::OkStatus();
}

// A prediction as a line without its end: the answer; the question, a tab and the answer, both
// escaped (framework/core/text/utf8.h); or a JSON object.
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

// The answer that a model writes, without the token that ends it; where the model reads no further,
// the answer ends there.
absl::StatusOr<std::string> write_answer(const LoadedRun& run, const Model& model,
                                         const TaskKind& task, const Tokens& prompt) {
  constexpr int64_t kLongestAnswer = 1024;
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  ASSIGN_OR_RETURN(Tokens answer, most_likely_answer(run, model, prompt, kLongestAnswer));
  const auto last = static_cast<size_t>(answer.back());
  if (vocabulary.texts()[last] == task.last_token) answer.pop_back();
  return vocabulary.decode(answer);
}

absl::StatusOr<Prediction> predict(const LoadedRun& run, const Model& model, const TaskKind& task,
                                   const Record& record) {
  ASSIGN_OR_RETURN(const Prompt prompt, read_prompt(run, "the question", record.question));
  const Tokens& tokens = prompt.tokens;
  RETURN_IF_ERROR(check_length("the question", std::ssize(tokens), run.longest_prompt()));
  Prediction prediction = {
      .question = record.question, .expected = record.answer, .line = record.line};
  if (form_of(run.checkpoint.config.model.kind) == DataForm::kClass) {
    prediction.asked = "text";
    RETURN_IF_ERROR(classify(run, model, Array::of({1, std::ssize(tokens)}, tokens), prediction));
  } else {
    ASSIGN_OR_RETURN(prediction.answer, write_answer(run, model, task, tokens));
  }
  return prediction;
}

// Adds the files that a path stands for. A folder is read once, whatever links lead to it. A file
// that cannot be read is an error when its image is asked for; a folder's other files than images
// are left out.
void add_files(const std::string& path, std::set<std::filesystem::path>& seen,
               std::vector<std::string>& files, std::vector<std::string>& no_images) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (is_folder && !seen.insert(std::filesystem::canonical(path, ignored)).second) return;
  const absl::StatusOr<std::vector<FolderEntry>> entries =
      is_folder ? entries_of(path) : absl::InvalidArgumentError("is not a folder");
  if (!entries.ok()) {
    files.push_back(path);
    return;
  }
  for (const FolderEntry& entry : *entries) {
    if (!entry.is_folder && is_no_image(entry)) {
      no_images.push_back(entry.path);
    } else {
      add_files(entry.path, seen, files, no_images);
    }
  }
}

// The class that the folder of an image is named after.
std::optional<std::string> expected_class(const std::string& path,
                                          const std::vector<std::string>& classes) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(path, ignored).lexically_normal();
  const std::string name = class_of_folder(whole.parent_path().filename().string());
  const auto found = std::ranges::find(classes, name, nfc);  // an older run has others
  if (found == classes.end()) return std::nullopt;
  return *found;
}

Array pixels_of(const std::string& bytes, const DataShape& shape) {
  Array pixels({1, shape.channels, shape.height, shape.width}, DType::f32);
  std::ranges::transform(bytes, pixels.mutable_data<float>(), [](char byte) {
    return static_cast<float>(static_cast<unsigned char>(byte)) / 255.0F;
  });
  return pixels;
}

// Returns false when nobody reads any more.
bool print_line(const std::string& line) {
  print(line + "\n");
  std::fflush(stdout);
  return std::ferror(stdout) == 0;
}

// Answers the questions that come out of `file` one after the other, as the run's task has them in
// its files (data/records/records.h; `path` says the format), always with the most likely tokens.
// A question without an answer gets an empty line, or a JSON object that says why, and is named in
// the end with its place.
absl::Status predict_file(const LoadedRun& run, const std::string& path, std::istream& file,
                          PredictionFormat format) {
  const DataOptions& data = run.checkpoint.config.data;
  const TaskKind& task = *find_task(data.task);
  if (!task.records) {
    return invalid_argument(
        run.path,
        ": predict answers a run of the task \"pairs\" or \"classes\", or of images; this "
        "one has learned \"",
        data.task, "\", which generate asks");
  }
  ASSIGN_OR_RETURN(const Model model, run.model());
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
        record->ok() ? predict(run, model, task, **record) : record->status();
    if (!prediction.ok() && !absl::IsInvalidArgument(prediction.status())) {
      return absl::Status(prediction.status().code(),
                          absl::StrCat(run.path, ": ", prediction.status().message()));
    }
    std::string line;
    if (prediction.ok()) {
      line = prediction_line(*prediction, format);
    } else {
      mistakes.add(path, reader.line(), prediction.status().message());
      line = unanswered_line({.question = "", .line = reader.line()}, prediction.status(), format);
    }
    if (!print_line(line)) return absl::OkStatus();
  }
  if (file.bad()) return absl::InternalError(absl::StrCat("cannot read ", path));
  return mistakes.status();
}

// Predicts the classes of PNG and JPEG files with a run that has learned from images, in the layout
// that its model reads. A folder stands for the files in it and in its folders. Where the folder of
// an image has the name of a class, that one is expected. An image without an answer gets an empty
// line, or a JSON object that says why, and is named in the end.
absl::Status predict_images(const LoadedRun& run, const std::vector<std::string>& paths,
                            PredictionFormat format) {
  ASSIGN_OR_RETURN(const Model model, run.model());
  const DataShape& shape = run.checkpoint.data;
  const ImageLayout layout = {shape.channels, shape.height, shape.width,
                              run.checkpoint.config.data.fit};
  std::vector<std::string> files, no_images;
  for (const std::string& path : paths) {
    std::set<std::filesystem::path> seen;
    add_files(path, seen, files, no_images);
  }
  if (!no_images.empty()) say_note(note_on_no_images(no_images));
  FileMistakes mistakes;
  for (const std::string& file : files) {
    Prediction prediction = {.question = file,
                             .asked = "file",
                             .expected = expected_class(file, run.checkpoint.answers())};
    const absl::StatusOr<std::string> bytes = read_image(file, layout);
    std::string line;
    if (bytes.ok()) {
      absl::Status status = classify(run, model, pixels_of(*bytes, shape), prediction);
      if (!status.ok()) {
        return absl::Status(status.code(), absl::StrCat(run.path, ": ", status.message()));
      }
      line = prediction_line(prediction, format);
    } else {
      mistakes.add(file, 0, bytes.status().message());
      line = unanswered_line(prediction, bytes.status(), format);
    }
    if (!print_line(line)) return absl::OkStatus();
  }
  return mistakes.status();
}

void add_predict_options(OptionList& options) {
  options.text("format", "FORMAT",
               "text: the answers; tsv: questions or files, and answers; json: JSON lines", "text");
  options.one_of("format", names_of<PredictionFormat>);
}

absl::Status predict_questions(const LoadedRun& run, const std::vector<std::string>& paths,
                               PredictionFormat format) {
  if (paths.size() > 1) {
    return absl::InvalidArgumentError("predict answers the questions of one file at a time");
  }
  const std::string& path = paths.front();
  if (path == "-") return predict_file(run, "standard input", std::cin, format);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return invalid_argument(path, " is a folder; predict reads a file");
  }
  std::ifstream opened(path);
  if (!opened) {
    return not_found("cannot read ", path, ": ", std::strerror(errno));
  }
  return predict_file(run, path, opened, format);
}

// "-" stands for the paths that standard input has, a line each.
std::vector<std::string> paths_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    if (argument != "-") paths.push_back(argument);
    for (std::string line; argument == "-" && std::getline(std::cin, line);) {
      if (!line.empty()) paths.push_back(line);
    }
  }
  return paths;
}

absl::Status run_predict(const std::string& name, const GivenOptions& given) {
  const auto format = given.value<PredictionFormat>("format");
  ASSIGN_OR_RETURN(const LoadedRun run, load_run(name));
  std::vector<std::string> files = given.arguments();
  files.erase(files.begin());
  if (!run.checkpoint.data.is_image()) return predict_questions(run, files, format);
  return predict_images(run, paths_of(files), format);
}

}  // namespace

Verb predict_verb() {
  return {{"predict", "RUN FILE…", "answers files of questions or images; -: standard input"},
          add_predict_options,
          run_predict};
}

}  // namespace qkv
