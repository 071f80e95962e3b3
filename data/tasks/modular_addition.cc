#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

constexpr int64_t kMaxModulus = 1000;

Task make_modular_addition(const DataOptions& options) {
  const int64_t modulus = options.modulus;

  Task task;
  for (int64_t i = 0; i < modulus; ++i) task.token_texts.push_back(absl::StrCat(i));
  task.token_texts.emplace_back("+");
  task.token_texts.emplace_back("=");
  task.training = task.validation = {.prompt = 4, .answer = 1, .both = 5};

  task.draw = [modulus](Split, Choices& choices) {
    const int64_t a = choices.below(modulus);
    const int64_t b = choices.below(modulus);
    const int64_t plus = modulus;
    const int64_t equals = modulus + 1;
    return Example{{a, plus, b, equals}, {(a + b) % modulus}};
  };
  task.decisions = [](Split, const std::vector<int64_t>& prompt) {
    return prompt.size() == 4 ? std::vector{prompt[0], prompt[2]} : std::vector<int64_t>();
  };
  return task;
}

void check_modular_addition(const DataOptions& options, OptionChecker& check) {
  check.range("modulus", options.modulus, 2, kMaxModulus);
}

}  // namespace

// 12 + 90 = 5 (modulo 97): each number is one token, as in Power et al. 2022, "Grokking". There are
// modulus * modulus questions; training sees a share of them, validation asks all the others.
TaskKind modular_addition_task() {
  return question_task({.name = "modular_addition",
                        .keys = {"modulus"},
                        .check = check_modular_addition,
                        .make = make_modular_addition,
                        .validates_on_all = true});
}

}  // namespace qkv
