#include "data/find_question.h"

#include <algorithm>
#include <utility>

namespace qkv {
namespace {

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
