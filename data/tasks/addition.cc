#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

constexpr int64_t kMaxDigits = 100;

Task make_addition(const DataOptions& options) {
  const auto digits = static_cast<size_t>(options.digits);

  Task task;
  task.token_texts = symbol_texts(10);
  task.token_texts.emplace_back("+");
  task.token_texts.emplace_back("=");
  task.training = task.validation = {.prompt = 2 * options.digits + 2,
                                     .answer = options.digits + 1,
                                     .both = 3 * options.digits + 3};

  task.draw = [digits](Split, Choices& choices) {
    const int64_t plus = 10;
    const int64_t equals = 11;
    Tokens a(digits), b(digits);  // the most significant digit first
    for (int64_t& digit : a) digit = choices.below(10);
    for (int64_t& digit : b) digit = choices.below(10);

    Example example;
    int64_t carry = 0;
    for (size_t i = digits; i-- > 0;) {
      const int64_t sum = a[i] + b[i] + carry;
      example.answer.push_back(sum % 10);
      carry = sum / 10;
    }
    example.answer.push_back(carry);

    example.prompt = std::move(a);
    example.prompt.push_back(plus);
    example.prompt.insert(example.prompt.end(), b.begin(), b.end());
    example.prompt.push_back(equals);
    return example;
  };
  task.decisions = [digits](Split, Tokens prompt) {
    if (prompt.size() > digits) prompt.erase(prompt.begin() + digits);
    return prompt;
  };
  return task;
}

void check_addition(const DataOptions& options, OptionChecker& check) {
  check.range("digits", options.digits, 1, kMaxDigits);
}

}  // namespace

// 123+989=2111: two numbers of `digits` digits, padded with zeros, and the sum with its digits in
// reverse, the units first (here 1112). So each digit of the answer needs only the digits of its
// column and the carry from the digit written just before.
TaskKind addition_task() {
  return question_task(
      {.name = "addition",
       .keys = {"digits"},
       .check = check_addition,
       .make = make_addition,
       .answer_length = [](const DataOptions& options, int64_t) { return options.digits + 1; }});
}

}  // namespace qkv
