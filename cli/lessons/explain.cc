#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/lessons/verbs.h"
#include "cli/output_files.h"
#include "cli/run.h"
#include "data/question_batch.h"
#include "data/tasks/tasks.h"
#include "framework/core/utf8.h"
#include "framework/io/files.h"
#include "lessons/explain/document.h"
#include "lessons/explain/fitted_page.h"
#include "lessons/explain/lesson.h"
#include "lessons/explain/recording_size.h"
#include "lessons/explain/walk.h"
#include "train/run/generate.h"
#include "train/run/run_folder.h"

namespace qkv {
namespace {

constexpr int64_t kMaxPageBytes = 2000000;
constexpr int64_t kMaxHistoryNumbers = 75000;
constexpr int64_t kTokensOfText = 32;  // a text has no end of its own

void add_options(OptionList& options) {
  options.text("prompt", "TEXT", "The text that the model reads; by default a validation example");
  options.text("target", "TEXT", "The text that should follow; by default the answer");
  options.integer("validation", "N", "Number of the validation example, counted from 0");
  options.text("example", "NAME", "Explains a built-in example, which needs no run: three-words");
  options.integer("layer", "N",
                  "Begins at this attention layer, counted from 0; by default the last");
  options.integer("head", "N", "Begins at this head of the layer; by default 0");
  options.integer("position", "N", "Begins at the query of this position; by default 0");
  options.set("Changes the model: --set attention.causal=false; may be repeated");
  options.text("out", "FILE", "The page to write; by default NAME.html");
  options.flag("text", "Prints the steps of one head in the terminal; no page without --out");
  options.text("json", "FILE", "Writes all numbers as JSON; no page without --out");
}

absl::StatusOr<Tokens> encoded(const Vocabulary& vocabulary, const std::string& option,
                               const std::string& text) {
  absl::StatusOr<Tokens> tokens = vocabulary.encode(text);
  if (!tokens.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--", option, ": ", tokens.status().message()));
  }
  if (tokens->empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--", option, " holds no token"));
  }
  return tokens;
}

// The answer that the task has for the prompt, or else the model's own.
absl::StatusOr<Tokens> answer_to(const Tokens& prompt, const Dataset& dataset, const Model& model,
                                 const TaskKind& task, const DataOptions& data) {
  if (std::optional<Tokens> answer = dataset.answer_to(prompt)) return *std::move(answer);
  say_note(absl::StrCat("\"", dataset.vocabulary().decode(prompt), "\" is no question of the task ",
                        task.name,
                        "; the model's own answer is the target; --target sets another one"));
  const int64_t length = task.answer_length(data, std::ssize(prompt));
  return generate(model, prompt, length, {.temperature = 0.0});
}

// In a text, every token is the target of the tokens before it.
absl::StatusOr<Batch> batch_of_text(const Tokens& text) {
  if (text.size() < 2) {
    return absl::InvalidArgumentError(
        "--prompt: a text needs two tokens, so that one can follow the other; --target adds "
        "tokens");
  }
  const int64_t length = std::ssize(text) - 1;
  Batch batch = {{Array::of({1, length}, std::span(text).first(text.size() - 1))},
                 Array::of({1, length}, std::span(text).subspan(1))};
  return batch;
}

absl::Status check_length(const std::string& what, int64_t length, int64_t max_length,
                          const ModelOptions& model) {
  if (length <= max_length || reads_any_length(model)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", length, " tokens; this model reads at most ", max_length));
}

absl::StatusOr<Batch> batch_of_prompt(const Checkpoint& checkpoint, const Dataset& dataset,
                                      const Model& model, const GivenOptions& given) {
  if (checkpoint.data.is_image()) {
    return absl::InvalidArgumentError(
        "--prompt: this model reads images; --validation chooses a validation image");
  }
  const ModelOptions& options = checkpoint.config.model;
  const DataForm form = form_of(options.kind);
  const DataShape& data = checkpoint.data;
  const bool has_source = form == DataForm::kSourceTarget;
  absl::StatusOr<Tokens> prompt = encoded(checkpoint.vocabulary, "prompt", given.text("prompt"));
  if (!prompt.ok()) return prompt.status();
  // Before the model writes an answer to it, which takes long.
  absl::Status status = check_length("--prompt", std::ssize(*prompt),
                                     has_source ? data.source_length : data.max_length, options);
  if (!status.ok()) return status;
  Example example = {.prompt = *std::move(prompt), .answer = {}};
  if (given.has("target")) {
    absl::StatusOr<Tokens> target = encoded(checkpoint.vocabulary, "target", given.text("target"));
    if (!target.ok()) return target.status();
    example.answer = *std::move(target);
  } else if (dataset.has_answers()) {
    absl::StatusOr<Tokens> answer =
        answer_to(example.prompt, dataset, model, *find_task(checkpoint.config.data.task),
                  checkpoint.config.data);
    if (!answer.ok()) return answer.status();
    example.answer = *std::move(answer);
  }
  const int64_t prompt_length = std::ssize(example.prompt), answer = std::ssize(example.answer);
  if (form == DataForm::kSequence) {
    status = check_length("--prompt with the target", prompt_length + answer - 1, data.max_length,
                          options);
  } else if (has_source) {
    status = check_length("--target", answer, data.max_length, options);
  } else if (answer != 1) {
    status = absl::InvalidArgumentError("--target: this model answers with exactly one token");
  }
  if (!status.ok()) return status;
  if (!dataset.has_answers()) {
    Tokens text = example.prompt;
    text.insert(text.end(), example.answer.begin(), example.answer.end());
    return batch_of_text(text);
  }
  const QuestionLengths lengths = {
      .prompt = prompt_length, .answer = answer, .both = prompt_length + answer};
  return question_batch(form, {example}, lengths, /*padding=*/0);
}

absl::StatusOr<Batch> batch_of_validation(const Dataset& dataset, int64_t index) {
  if (index < 0 || index >= dataset.validation_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--validation: there are examples 0 to ", dataset.validation_size() - 1));
  }
  Batch batch = dataset.validation_batch(index, 1);
  if (dataset.has_answers()) return batch;
  const Array& tokens = batch.inputs[0];
  const auto length = static_cast<size_t>(std::min(tokens.size(), kTokensOfText));
  const std::span all(tokens.data<int64_t>(), static_cast<size_t>(tokens.size()));
  const std::span targets(batch.targets.data<int64_t>(), static_cast<size_t>(tokens.size()));
  const Shape shape = {1, static_cast<int64_t>(length)};
  return Batch{{Array::of(shape, all.first(length))}, Array::of(shape, targets.first(length))};
}

absl::StatusOr<LessonFrame> frame_at(const std::string& path, const Lesson& lesson) {
  absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(path);
  if (!checkpoint.ok()) return checkpoint.status();
  widen(*checkpoint);
  const absl::StatusOr<Model> model = restore_model(path, *checkpoint);
  if (!model.ok()) return model.status();
  return frame_of(record(*model, lesson.batch, lesson.form()), checkpoint->state.step);
}

// The example as the numbered checkpoints of the run see it. A checkpoint that cannot be read is
// left out, with a note.
std::vector<LessonFrame> history_of(const std::string& run, const Lesson& lesson,
                                    const Recording& recording) {
  const std::vector<std::string> paths = numbered_checkpoints(run);
  std::vector<LessonFrame> frames;
  for (const size_t i : spread_frames(paths.size(), recording, kMaxHistoryNumbers)) {
    absl::StatusOr<LessonFrame> frame = frame_at(paths[i], lesson);
    if (frame.ok()) {
      frames.push_back(*std::move(frame));
    } else {
      say_note(absl::StrCat("a numbered checkpoint is left out: ",
                            std::string(frame.status().message())));
    }
  }
  return frames;
}

absl::StatusOr<Lesson> lesson_of_run(const std::string& name, const GivenOptions& given) {
  absl::StatusOr<LoadedRun> loaded = load_run(name);
  if (!loaded.ok()) return loaded.status();
  Checkpoint& checkpoint = loaded->checkpoint;
  widen(checkpoint);
  absl::StatusOr<Model> model = restore_model(loaded->path, checkpoint);
  if (!model.ok()) return model.status();
  const absl::StatusOr<std::unique_ptr<Dataset>> dataset = loaded->dataset({});
  if (!dataset.ok()) return dataset.status();
  absl::StatusOr<Batch> batch =
      given.has("prompt")
          ? batch_of_prompt(checkpoint, **dataset, *model, given)
          : batch_of_validation(**dataset, given.integer_if_given("validation").value_or(0));
  if (!batch.ok()) return batch.status();
  return Lesson{.config = checkpoint.config,
                .vocabulary = checkpoint.vocabulary.texts(),
                .step = checkpoint.state.step,
                .model = *std::move(model),
                .batch = *std::move(batch)};
}

absl::Status check_what_is_asked(const std::string& name, const GivenOptions& given) {
  if (name.empty() != given.has("example")) {
    return absl::InvalidArgumentError(name.empty() ? "explain needs a RUN, or --example three-words"
                                                   : "explain takes a RUN or --example, not both");
  }
  if (given.has("target") && !given.has("prompt")) {
    return absl::InvalidArgumentError("--target needs --prompt");
  }
  if (given.has("prompt") && given.has("validation")) {
    return absl::InvalidArgumentError("--prompt and --validation both say what the model reads");
  }
  for (const char* option : {"prompt", "validation"}) {
    if (given.has(option) && given.has("example")) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", option, " and --example exclude each other: --example has its own text"));
    }
  }
  return absl::OkStatus();
}

absl::Status check_range(const std::string& option, int64_t value, int64_t count,
                         const std::string& what) {
  if (value >= 0 && value < count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", option, ": there are ", what, " 0 to ", count - 1));
}

// Where the page begins.
absl::Status place(Lesson& lesson, const Recording& recording, const GivenOptions& given) {
  const std::vector<std::string> layers = recording.attention_layers();
  if (layers.empty()) {
    return absl::FailedPreconditionError("this model has no attention to explain");
  }
  const int64_t layer = given.integer_if_given("layer").value_or(std::ssize(layers) - 1);
  absl::Status status = check_range("layer", layer, std::ssize(layers), "layers of attention");
  if (!status.ok()) return status;
  lesson.layer = layers[static_cast<size_t>(layer)];
  lesson.head = given.integer_if_given("head").value_or(0);
  lesson.position = given.integer_if_given("position").value_or(0);
  lesson.begins_at_place = given.has("layer") || given.has("head") || given.has("position");
  const Shape& weights = recording.weights_of(lesson.layer).shape();  // [B, H, Tq, Tk]
  status = check_range("head", lesson.head, weights[1], "heads");
  if (!status.ok()) return status;
  return check_range("position", lesson.position, weights[2], "places");
}

// Warns about parameters without training, and a loss that is not finite.
void say_warnings(const Lesson& lesson, const Recording& recording) {
  if (!lesson.untrained.empty()) {
    say_note(absl::StrCat("these parameters are not trained, their numbers are random: ",
                          absl::StrJoin(lesson.untrained, ", ")));
  }
  if (!std::isfinite(recording.whole_loss)) {
    say_note(absl::StrCat("the loss is ", recording.whole_loss,
                          ", not a finite number: some numbers of this model are too large"));
  }
}

absl::Status run(const std::string& name, const GivenOptions& given) {
  if (absl::Status s = check_what_is_asked(name, given); !s.ok()) return s;
  absl::StatusOr<Lesson> lesson =
      given.has("example") ? find_lesson(given.text("example")) : lesson_of_run(name, given);
  if (!lesson.ok()) return lesson.status();
  const absl::StatusOr<Config> config = config_with(*lesson, given.set());
  if (!config.ok()) return config.status();
  const bool page_is_asked_for = given.has("out") || !(given.has("json") || given.has("text"));
  const std::string page_path = !page_is_asked_for ? ""
                                : given.has("out") ? given.text("out")
                                                   : absl::StrCat(lesson->config.name, ".html");
  const OutputFile files[] = {{"out", page_path, kBeginningOfPage},
                              {"json", given.text("json"), kBeginningOfLesson}};
  if (absl::Status s = check_outputs(files); !s.ok()) return s;
  const bool as_text = page_is_asked_for || given.has("json");
  if (absl::Status s =
          check_memory(config->model, lesson->model.data(), lesson->batch, lesson->form(), as_text);
      !s.ok()) {
    return s;
  }
  if (!given.set().empty()) lesson = with_settings(*lesson, given.set());
  if (!lesson.ok()) return lesson.status();
  Recording recording = record(lesson->model, lesson->batch, lesson->form());
  if (absl::Status s = place(*lesson, recording, given); !s.ok()) return s;

  say_warnings(*lesson, recording);
  if (given.has("text")) print(lesson_walk(recording, *lesson));
  const bool was_trained_so = !name.empty() && given.set().empty();
  if (was_trained_so && (page_is_asked_for || given.has("json"))) {
    lesson->history = history_of(name, *lesson, recording);
  }
  if (given.has("json")) {
    const std::string document = lesson_document(recording, *lesson, 0);
    if (absl::Status s = write_file_atomically(given.text("json"), document); !s.ok()) return s;
  }
  if (!page_is_asked_for) return absl::OkStatus();
  const std::string page = fitted_page(std::move(recording), *lesson, kMaxPageBytes);
  if (absl::Status s = write_file_atomically(page_path, page); !s.ok()) return s;
  print(absl::StrCat("in ", printable(page_path), "\n"));
  return absl::OkStatus();
}

}  // namespace

Verb explain_verb() { return {kExplainTitle, add_options, run}; }

}  // namespace qkv
