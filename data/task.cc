#include "data/task.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace qkv {
namespace {

// A space of up to kSmallSpace questions is counted at the start. A list of up to kKept stays in
// memory; a longer one, which few batches need, is made for each of these.
constexpr int64_t kSmallSpace = 65536, kKept = 4096;
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

class TaskDataset final : public Dataset {
 public:
  TaskDataset(const DataOptions& options, Task task, bool validates_on_all, Vocabulary vocabulary,
              uint64_t seed, DataForm form)
      : Dataset(std::move(vocabulary), form),
        options_(options),
        task_(std::move(task)),
        validates_on_all_(validates_on_all),
        stream_(seed) {}

  absl::Status fill() {
    Listing listing = list_all(Split::kTraining, kSmallSpace, kKept);
    if (listing.complete) {
      if (listing.count == 0) return no_question("training", listing.questions);
      training_size_ = listing.count;
      if (training_size_ <= kKept) training_ = std::move(listing.examples);
    }

    const int64_t wanted = options_.validation_examples;
    // Beyond this limit at most about a quarter of the held-out questions is wanted, so that random
    // draws seldom meet one that they have already.
    const auto enough =
        static_cast<int64_t>(4.0 * static_cast<double>(wanted) / (1.0 - options_.train_fraction));
    listing =
        list_all(Split::kValidation, validates_on_all_ ? kAny : std::max(kSmallSpace, enough));
    if (listing.complete) {
      if (listing.examples.empty()) return no_question("validation", listing.questions);
      validation_ = std::move(listing.examples);
      RandomStream order = stream_.derive("validation order");
      shuffle(validation_, order);
      if (!validates_on_all_ && validation_size() > wanted) {
        validation_.resize(static_cast<size_t>(wanted));
      }
    } else {
      draw_validation(wanted);
    }
    return absl::OkStatus();
  }

  bool has_answers() const override { return true; }

  DataShape shape() const override { return shape_of(task_, form()); }

  int64_t training_size() const override { return training_size_; }

  Batch training_batch(int64_t index, int64_t batch_size) const override {
    check_training_batch(index, batch_size);
    if (training_size_ > 0 && training_size_ <= batch_size) {
      const Listing listing = training_.empty() ? list_all(Split::kTraining) : Listing();
      return question_batch(form(), training_.empty() ? listing.examples : training_,
                            task_.training, padding());
    }
    const RandomStream stream =
        stream_.derive("training examples").derive(static_cast<uint64_t>(index));
    std::vector<Example> examples;
    for (int64_t row = 0; row < batch_size; ++row) {
      examples.push_back(draw(Split::kTraining, stream.derive(static_cast<uint64_t>(row))));
    }
    return question_batch(form(), examples, task_.training, padding());
  }

  int64_t validation_size() const override { return static_cast<int64_t>(validation_.size()); }

  Batch validation_batch(int64_t first, int64_t count) const override {
    check_validation_range(first, count, validation_size());
    const auto begin = validation_.begin() + first;
    return question_batch(form(), {begin, begin + count}, task_.validation, padding());
  }

  Example validation_example(int64_t index) const override {
    check_validation_range(index, 1, validation_size());
    return validation_[index];
  }

  std::optional<std::vector<int64_t>> answer_to(const std::vector<int64_t>& prompt) const override {
    std::optional<Example> example = find_question(task_, prompt);
    if (!example) return std::nullopt;
    return std::move(example->answer);
  }

 private:
  struct Listing {
    std::vector<Example> examples;  // the first of those on the side that was asked for
    int64_t count = 0;              // of all on that side
    int64_t questions = 0;          // on either side
    bool complete = false;
  };

  bool is_on(Split split, const Example& example) const {
    return side_of(vocabulary().decode(example.prompt), options_.train_fraction) == split;
  }

  // Every example of the split, unless there are more than `limit` questions on both sides. They
  // are counted before any is kept: long ones would fill the memory.
  Listing list_all(Split split, int64_t limit = kAny, int64_t kept = kAny) const {
    Listing listing;
    EveryChoice counted;
    do {
      task_.draw(split, counted);
      ++listing.questions;
      if (listing.questions + counted.least_left() > limit) return listing;
    } while (counted.next());
    EveryChoice every;
    do {
      Example example = task_.draw(split, every);
      if (is_on(split, example) && ++listing.count <= kept) {
        listing.examples.push_back(std::move(example));
      }
    } while (every.next());
    listing.complete = true;
    return listing;
  }

  // Ends because neither side of a space is empty or tiny: fill() and find_mistakes() see to it.
  Example draw(Split split, const RandomStream& stream) const {
    RandomChoices choices(stream);
    while (true) {
      Example example = task_.draw(split, choices);
      if (is_on(split, example)) return example;
    }
  }

  void draw_validation(int64_t wanted) {
    const RandomStream stream = stream_.derive("validation examples");
    std::set<std::vector<int64_t>> seen;
    for (uint64_t i = 0; validation_size() < wanted; ++i) {
      Example example = draw(Split::kValidation, stream.derive(i));
      if (seen.insert(example.prompt).second) validation_.push_back(std::move(example));
    }
  }

  absl::Status no_question(const char* side, int64_t questions) const {
    return invalid_argument("data: the task ", options_.task, " has only ", questions,
                            " different questions, but none of them is for ", side,
                            "; use longer questions, more symbols or a train_fraction other than ",
                            options_.train_fraction);
  }

  int64_t padding() const { return vocabulary().size() - 1; }

  DataOptions options_;
  Task task_;
  bool validates_on_all_;
  RandomStream stream_;
  int64_t training_size_ = 0;      // of a small space
  std::vector<Example> training_;  // all of them, where they are few
  std::vector<Example> validation_;
};

// Given decisions, each moved to where it is possible, and 0 for those that are not given.
class GivenChoices final : public Choices {
 public:
  explicit GivenChoices(std::vector<int64_t> values) : values_(std::move(values)) {}

  int64_t below(int64_t bound) override {
    return next_ < values_.size() ? std::clamp<int64_t>(values_[next_++], 0, bound - 1) : 0;
  }

 private:
  std::vector<int64_t> values_;
  size_t next_ = 0;
};

std::optional<Example> find_among_all(const Task& task, const std::vector<int64_t>& prompt) {
  EveryChoice every;
  do {
    Example example = task.draw(Split::kTraining, every);
    if (example.prompt == prompt) return example;
  } while (every.next());
  return std::nullopt;
}

}  // namespace

DataShape shape_of(const Task& task, DataForm form) {
  const auto longest = [&](int64_t QuestionLengths::*length) {
    return std::max(task.training.*length, task.validation.*length);
  };
  return shape_of({.prompt = longest(&QuestionLengths::prompt),
                   .answer = longest(&QuestionLengths::answer),
                   .both = longest(&QuestionLengths::both)},
                  std::ssize(task.token_texts), form);
}

absl::StatusOr<std::unique_ptr<Dataset>> make_task_dataset(const DataOptions& options, Task task,
                                                           bool validates_on_all, uint64_t seed,
                                                           DataForm form) {
  ASSIGN_OR_RETURN(auto vocabulary, Vocabulary::create(task.token_texts));
  auto dataset = std::make_unique<TaskDataset>(options, std::move(task), validates_on_all,
                                               vocabulary, seed, form);
  RETURN_IF_ERROR(dataset->fill());
  return dataset;
}

TaskKind question_task(const QuestionTask& question) {
  // A task draws questions until one falls on the side it wants: neither side may be tiny.
  const auto check = [question](const DataOptions& options, OptionChecker& checker) {
    question.check(options, checker);
    checker.range("train_fraction", options.train_fraction, 0.01, 0.99);
    if (question.validates_on_all) return;
    checker.range("validation_examples", options.validation_examples, 1, kMaxValidationExamples);
  };
  const auto make = [question](const DataOptions& options, uint64_t seed, DataForm form,
                               const Wait&) {
    return make_task_dataset(options, question.make(options), question.validates_on_all, seed,
                             form);
  };
  const bool answers_are_classes = question.answer_length == nullptr;
  TaskKind kind = {.name = question.name,
                   .keys = question.keys,
                   .check = check,
                   .make = make,
                   .answer_length = question.answer_length,
                   .questions = question.make,
                   .forms = {DataForm::kSequence, DataForm::kSourceTarget}};
  if (answers_are_classes) {
    kind.answer_length = [](const DataOptions&, int64_t) { return int64_t{1}; };
    kind.forms.push_back(DataForm::kClass);
  }
  kind.keys.emplace_back("train_fraction");
  if (!question.validates_on_all) kind.keys.emplace_back("validation_examples");
  return kind;
}

std::optional<Example> find_question(const Task& task, const std::vector<int64_t>& prompt) {
  const int64_t longest = std::max(task.training.prompt, task.validation.prompt);
  if (prompt.empty() || std::ssize(prompt) > longest) return std::nullopt;
  if (!task.decisions) return find_among_all(task, prompt);
  for (const Split split : {Split::kValidation, Split::kTraining}) {
    GivenChoices choices(task.decisions(split, prompt));
    Example example = task.draw(split, choices);
    if (example.prompt == prompt) return example;
  }
  return std::nullopt;
}

Example example_question(const Task& task) {
  RandomChoices choices(RandomStream(1).derive("example question"));
  return task.draw(Split::kTraining, choices);
}

}  // namespace qkv
