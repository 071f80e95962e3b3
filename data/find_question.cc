#include "data/find_question.h"

#include <algorithm>
#include <utility>

namespace qkv {
namespace {

constexpr int64_t kMaxQuestions = 1 << 20;  // that are all tried

// Given decisions, and 0 for those that are not given.
class GivenChoices final : public Choices {
 public:
  explicit GivenChoices(const std::vector<int64_t>& values) : values_(values) {}

  int64_t below(int64_t bound) override {
    const size_t i = bounds_.size();
    bounds_.push_back(bound);
    return i < values_.size() ? std::min(values_[i], bound - 1) : 0;
  }

  const std::vector<int64_t>& bounds() const { return bounds_; }  // of all that were asked for

 private:
  const std::vector<int64_t>& values_;
  std::vector<int64_t> bounds_;
};

// How near a prompt is to the wanted one, the greater the nearer: is it as long, and which of its
// tokens are right, where the first count most.
std::vector<bool> agreement(const std::vector<int64_t>& prompt,
                            const std::vector<int64_t>& wanted) {
  std::vector<bool> right = {prompt.size() == wanted.size()};
  for (size_t i = 0; i < std::min(prompt.size(), wanted.size()); ++i) {
    right.push_back(prompt[i] == wanted[i]);
  }
  return right;
}

// Tries all examples, unless they are too many.
std::optional<Example> find_among_all(const Task& task, Split split,
                                      const std::vector<int64_t>& prompt) {
  EveryChoice every;
  int64_t tried = 0;
  do {
    Example example = task.draw(split, every);
    if (example.prompt == prompt) return example;
  } while (++tried < kMaxQuestions && every.next());
  return std::nullopt;
}

// Makes the decisions one by one, each so that as much as possible of the prompt agrees.
std::optional<Example> find_step_by_step(const Task& task, Split split,
                                         const std::vector<int64_t>& prompt) {
  std::vector<int64_t> values;
  while (true) {
    GivenChoices begun(values);
    Example example = task.draw(split, begun);
    if (example.prompt == prompt) return example;
    if (values.size() >= begun.bounds().size()) return std::nullopt;
    const int64_t bound = begun.bounds()[values.size()];
    values.push_back(0);
    auto best = agreement(example.prompt, prompt);
    int64_t chosen = 0;
    for (int64_t value = 1; value < bound; ++value) {
      values.back() = value;
      GivenChoices choices(values);
      std::vector<bool> found = agreement(task.draw(split, choices).prompt, prompt);
      if (found <= best) continue;
      best = std::move(found);
      chosen = value;
    }
    values.back() = chosen;
  }
}

}  // namespace

std::optional<Example> find_question(const Task& task, const std::vector<int64_t>& prompt) {
  for (const Split split : {Split::kValidation, Split::kTraining}) {
    if (auto example = find_step_by_step(task, split, prompt)) return example;
  }
  for (const Split split : {Split::kValidation, Split::kTraining}) {
    if (auto example = find_among_all(task, split, prompt)) return example;
  }
  return std::nullopt;
}

}  // namespace qkv
