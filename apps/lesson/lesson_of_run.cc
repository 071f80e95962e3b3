#include "apps/lesson/lesson_of_run.h"

#include <algorithm>
#include <limits>
#include <span>

#include "absl/strings/str_cat.h"
#include "data/batch_builder.h"
#include "data/tasks/tasks.h"
#include "framework/graph/modes.h"
#include "train/config/suggest.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"
#include "train/folder/run_folder.h"
#include "train/generate/generate.h"
#include "train/generate/prompts.h"

namespace qkv {
namespace {

constexpr int64_t kHistoryOfMegabyte = 37500;  // numbers of weights
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kCandidates = 8;     // examples; one is shown
constexpr int64_t kTokensOfText = 32;  // a text has no end of its own

// In a text, every token is the target of the tokens before it.
Batch batch_of_text(std::span<const int64_t> text) {
  const Shape shape = {1, std::ssize(text) - 1};
  return {{Array::of(shape, text.first(text.size() - 1))}, Array::of(shape, text.subspan(1))};
}

// A run, and the examples read with its model.
class Reader {
 public:
  Reader(const RunWithData& run, const TellNote& tell)
      : run_(run.run), dataset_(run.dataset.get()), model_(run.model), tell_(tell) {}

  absl::StatusOr<Batch> prompt(const RunExample& example) const {
    if (run_.checkpoint.data.is_image()) {
      return absl::InvalidArgumentError(
          "--prompt: this model reads images; --validation chooses a validation image");
    }
    const absl::StatusOr<Prompt> read = read_prompt(run_, "--prompt", *example.prompt);
    if (!read.ok()) return read.status();
    const Tokens& prompt = read->tokens;
    // Before the model writes an answer to it, which takes long.
    absl::Status status = check_length("--prompt", std::ssize(prompt), run_.longest_prompt());
    if (!status.ok()) return status;
    absl::StatusOr<Tokens> target = target_of(*read, example);
    if (!target.ok()) return target.status();
    status = check_target(std::ssize(prompt), std::ssize(*target));
    if (!status.ok()) return status;
    Tokens both = prompt;
    both.insert(both.end(), target->begin(), target->end());
    if (has_answers()) return batch_of({.prompt = prompt, .answer = *std::move(target)});
    if (both.size() >= 2) return batch_of_text(both);
    return absl::InvalidArgumentError(
        "--prompt: a text needs two tokens, so that one can follow the other; --target adds "
        "tokens");
  }

  // The example with the largest loss of the first few: in a model that has learned, the others
  // have gradients near 0.
  int64_t telling_validation() const {
    int64_t best = 0;
    double largest = -1.0;
    for (int64_t i = 0; i < std::min(dataset_->validation_size(), kCandidates); ++i) {
      const absl::StatusOr<Batch> batch = validation(i);
      if (!batch.ok()) continue;
      const NoGrad no_grad;
      ForwardContext context;
      const double loss = batch_loss(model_, *batch, {}, context).loss.item();
      if (loss > largest) largest = loss, best = i;
    }
    return best;
  }

  absl::StatusOr<Batch> validation(int64_t index) const {
    if (index < 0 || index >= dataset_->validation_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--validation: there are examples 0 to ", dataset_->validation_size() - 1));
    }
    if (has_answers() && !run_.checkpoint.data.is_image()) {
      return batch_of(dataset_->validation_example(index));
    }
    Batch batch = dataset_->validation_batch(index, 1);
    if (has_answers()) return batch;
    const Array& tokens = batch.inputs[0];
    const int64_t length = std::min(tokens.size(), kTokensOfText);
    const auto beginning = [&](const Array& all) {
      return Array::of({1, length}, std::span(all.data<int64_t>(), static_cast<size_t>(length)));
    };
    return Batch{{beginning(tokens)}, beginning(batch.targets)};
  }

 private:
  bool has_answers() const { return dataset_ && dataset_->has_answers(); }

  // As long as the example is, without padding.
  Batch batch_of(const Example& example) const {
    const int64_t prompt = std::ssize(example.prompt), answer = std::ssize(example.answer);
    const QuestionLengths lengths = {.prompt = prompt, .answer = answer, .both = prompt + answer};
    return question_batch(dataset_->form(), {example}, lengths, /*padding=*/0);
  }

  // The user's; else the task's answer, or the model's own; nothing for a text.
  absl::StatusOr<Tokens> target_of(const Prompt& prompt, const RunExample& example) const {
    const DataOptions& data = run_.checkpoint.config.data;
    const TaskKind& task = *find_task(data.task);
    if (example.target) return target_as_in_files(task, *example.target);
    if (!has_answers()) return Tokens();
    if (auto answer = dataset_->answer_to(prompt.tokens)) return *std::move(answer);
    tell_(absl::StrCat("\"", prompt.text, "\" is ",
                       task.records ? "in no file" : "not a question",  //
                       " of the task ", task.name,
                       "; the model's own answer is the target; --target sets another one"));
    return most_likely_answer(run_, model_, prompt.tokens,
                              task.answer_length(data, std::ssize(prompt.tokens)));
  }

  // A class is given by its name; an answer of a file ends as all of them do.
  absl::StatusOr<Tokens> target_as_in_files(const TaskKind& task, const std::string& target) const {
    const std::vector<std::string>& classes = run_.checkpoint.class_names;
    if (classes.empty()) {
      return run_.encode("target", task.records ? target + task.last_token : target);
    }
    const auto found = std::ranges::find(classes, target);
    if (found != classes.end()) return Tokens{found - classes.begin()};
    return absl::InvalidArgumentError(absl::StrCat("--target: there is no class \"", target,
                                                   "\"; there are ", quoted_list(classes, "and")));
  }

  absl::Status check_target(int64_t prompt, int64_t target) const {
    switch (form_of(run_.checkpoint.config.model.kind)) {
      case DataForm::kSequence:
        return check_length("--prompt with the target", prompt + target - 1,
                            run_.longest_sequence());
      case DataForm::kSourceTarget:
        return check_length("--target", target, run_.longest_sequence());
      default:
        if (target == 1) return absl::OkStatus();
        return absl::InvalidArgumentError("--target: this model answers with exactly one token");
    }
  }

  const LoadedRun& run_;
  const Dataset* dataset_;  // of an imported run, none
  const Model& model_;
  const TellNote& tell_;
};

absl::StatusOr<RunWithData> with_data_or_prompt(LoadedRun run, const RunExample& example,
                                                const TellNote& tell) {
  if (run.checkpoint.imported_from.empty() || !example.prompt) {
    return with_data(std::move(run), {}, /*in_f64=*/true, tell);
  }
  widen(run.checkpoint);
  absl::StatusOr<Model> model = run.model();
  if (!model.ok()) return model.status();
  return RunWithData{std::move(run), *std::move(model), /*dataset=*/nullptr};
}

absl::StatusOr<LessonFrame> frame_at(const std::string& path, const Lesson& lesson) {
  absl::StatusOr<LoadedRun> run = load_run(path);
  if (!run.ok()) return run.status();
  widen(run->checkpoint);
  const absl::StatusOr<Model> model = run->model();
  if (!model.ok()) return model.status();
  return frame_of(record(*model, lesson.batch, lesson.form()), run->checkpoint.state.step);
}

}  // namespace

absl::StatusOr<Batch> example_of_run(const RunWithData& run, const RunExample& example,
                                     const TellNote& tell) {
  const Reader reader(run, tell);
  if (example.prompt) return reader.prompt(example);
  return reader.validation(example.validation ? *example.validation : reader.telling_validation());
}

absl::StatusOr<Lesson> lesson_of_run(const std::string& run, const RunExample& example,
                                     const TellNote& tell) {
  absl::StatusOr<LoadedRun> loaded = load_run(run);
  if (!loaded.ok()) return loaded.status();
  return lesson_of_run(*std::move(loaded), example, tell);
}

absl::StatusOr<Lesson> lesson_of_run(LoadedRun run, const RunExample& example,
                                     const TellNote& tell) {
  absl::StatusOr<RunWithData> loaded = with_data_or_prompt(std::move(run), example, tell);
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<Batch> batch = example_of_run(*loaded, example, tell);
  if (!batch.ok()) return batch.status();
  const Checkpoint& checkpoint = loaded->run.checkpoint;
  return Lesson{.config = checkpoint.config,
                .vocabulary = checkpoint.vocabulary.names(),
                .answers = checkpoint.class_names,
                .step = checkpoint.state.step,
                .model = std::move(loaded->model),
                .batch = *std::move(batch)};
}

void add_history(const std::string& run, const Recording& recording,
                 std::optional<int64_t> megabytes, Lesson& lesson, const TellNote& tell,
                 const TellProgress& progress) {
  const std::vector<std::string> paths = numbered_checkpoints(run);
  const int64_t most = megabytes ? *megabytes * kHistoryOfMegabyte : kAny;
  // The model before training: the same seed gives the same numbers.
  const Model untrained = make_model(lesson.config, lesson.model.data());
  std::vector<LessonFrame>& frames = lesson.history;
  frames = {frame_of(record(untrained, lesson.batch, lesson.form()), /*step=*/0)};
  const std::vector<size_t> chosen = spread(paths.size(), most / weights_in(frames[0]));
  for (const size_t i : chosen) {
    progress(absl::StrCat("reading ", paths[i]));
    absl::StatusOr<LessonFrame> frame = frame_at(paths[i], lesson);
    if (frame.ok()) {
      frames.push_back(*std::move(frame));
    } else {
      tell(absl::StrCat("a numbered checkpoint is left out: ",
                        std::string(frame.status().message())));
    }
  }
  const auto is_own = [&](const LessonFrame& frame) { return frame.step == lesson.step; };
  if (std::ranges::none_of(frames, is_own)) frames.push_back(frame_of(recording, lesson.step));
  std::ranges::sort(frames, {}, &LessonFrame::step);
  lesson.steps_of_history = frames.size() + paths.size() - chosen.size();
}

}  // namespace qkv
