#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/data_options.h"
#include "data/dataset.h"
#include "data/file.h"
#include "data/records/records.h"
#include "data/split.h"
#include "framework/core/random.h"
#include "framework/core/status.h"

namespace qkv {

// A source of decisions for a task, one number at a time. With one function on Choices a task can
// draw a random question, and enumerate all questions.
class Choices {
 public:
  virtual ~Choices() = default;

  // One of 0 … bound - 1; bound > 0.
  virtual int64_t below(int64_t bound) = 0;

  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
};

class RandomChoices final : public Choices {
 public:
  explicit RandomChoices(RandomStream stream) : stream_(stream) {}

  int64_t below(int64_t bound) override {
    return static_cast<int64_t>(stream_.below(static_cast<uint64_t>(bound)));
  }

 private:
  RandomStream stream_;
};

// Every possible sequence of decisions once, in lexicographic order:
//   EveryChoice every;
//   do { use(task(every)); } while (every.next());
// A question may depend on the answers before.
class EveryChoice final : public Choices {
 public:
  int64_t below(int64_t bound) override {
    if (position_ == path_.size()) path_.push_back({0, bound});
    return path_[position_++].value;
  }

  // Goes on to the next sequence; false when that was the last.
  bool next() {
    position_ = 0;
    while (!path_.empty() && path_.back().value + 1 == path_.back().bound) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().value;
    return true;
  }

  // A lower bound on the sequences left: each other answer to a decision of the last one begins
  // one.
  int64_t least_left() const {
    int64_t left = 0;
    for (const Decision& decision : path_) left += decision.bound - 1 - decision.value;
    return left;
  }

 private:
  struct Decision {
    int64_t value;
    int64_t bound;
  };
  std::vector<Decision> path_;
  size_t position_ = 0;
};

// Questions with one right answer. A sequence is prompt + answer; the prompt is the question with
// its separator.
struct Task {
  std::vector<std::string> token_texts;

  // The lengths in each split. Shorter examples are padded with the last token, which stands for
  // nothing else.
  QuestionLengths training, validation;

  // Makes one example. Different decisions make different questions, and every question of the
  // split's lengths can come out.
  std::function<Example(Split, Choices&)> draw;

  // The decisions with which `draw` makes this prompt, if it is a question of the split; of any
  // other prompt, whatever numbers. Where it is not given, the questions are few enough to try all
  // of them, and the same in both splits.
  std::function<std::vector<int64_t>(Split, const std::vector<int64_t>& prompt)> decisions =
      nullptr;
};

// The shape of its examples. Its lengths are the longest of either split.
DataShape shape_of(const Task& task, DataForm form);

// The properties of a run's data that it keeps without the file.
struct KnownData {
  Vocabulary vocabulary;
  std::vector<std::string> class_names;
  DataForm form = DataForm::kSequence;
  DataShape most;  // as long as its model reads
};

// A value of data.task. Each stands in a file of its own in data/tasks, and in the list of
// data/tasks/tasks.cc.
struct TaskKind {
  std::string name;               // "reverse"
  std::vector<std::string> keys;  // of the options that it reads: "length"
  // Says what is wrong with their values.
  std::function<void(const DataOptions&, OptionChecker&)> check;
  // The examples; the options are free of mistakes. An error when a file cannot be used, or a side
  // of the split would be empty.
  std::function<absl::StatusOr<std::unique_ptr<Dataset>>(const DataOptions&, uint64_t seed,
                                                         DataForm form, const Wait&)>
      make;
  // How many tokens answer a prompt of that length, or are a good piece of text; not for images.
  std::function<int64_t(const DataOptions&, int64_t prompt_length)> answer_length = nullptr;
  // Makes the questions, before any example; nullptr where examples come from a file, or are
  // images.
  std::function<Task(const DataOptions&)> questions = nullptr;
  std::string first_token = {};  // with which every example begins; "": none does
  std::string last_token = {};   // after which an answer ends; "": none does
  // All examples of the file data.path for validation, and none for training, in the tokens and
  // classes of a run. Empty if this kind judges no files.
  std::function<absl::StatusOr<std::unique_ptr<Dataset>>(const DataOptions&, const KnownData&,
                                                         const Wait&)>
      judge = nullptr;
  // How examples stand in files, and what follows a question in a prompt; none where no file has
  // questions and answers.
  struct Records {
    std::function<RecordLayout(const DataOptions&)> layout;
    std::string after_question = {};
  };
  std::optional<Records> records = std::nullopt;
  std::vector<DataForm> forms = {DataForm::kSequence};  // that `make` can give the examples
  bool is_running_text = false;   // examples are pieces of one text: they begin anywhere in a line
  bool reads_many_files = false;  // data.path may be a list of files and folders (data/file.h)
};

// The questions of `task` as examples. Training draws questions at random; validation is a list of
// different questions of the other side. An error when a side has no question at all.
absl::StatusOr<std::unique_ptr<Dataset>> make_task_dataset(const DataOptions& options, Task task,
                                                           bool validates_on_all, uint64_t seed,
                                                           DataForm form);

// A kind of such questions, without the options and checks that all share: how they are shared out
// between training and validation.
struct QuestionTask {
  std::string name;
  std::vector<std::string> keys;
  std::function<void(const DataOptions&, OptionChecker&)> check;
  std::function<Task(const DataOptions&)> make;
  // Where it is not given, every answer is one token, which can be a class.
  std::function<int64_t(const DataOptions&, int64_t prompt_length)> answer_length = nullptr;
  bool validates_on_all = false;  // on every question that is held out, however many
};
TaskKind question_task(const QuestionTask& question);

// The example of a task that asks this, so that its answer is known; none where no example has that
// prompt. Takes as long as making one example, or where the task cannot tell its decisions, as long
// as making each.
std::optional<Example> find_question(const Task& task, const std::vector<int64_t>& prompt);

// An example of the task, which shows what a question looks like. It is always the same one.
Example example_question(const Task& task);

}  // namespace qkv
