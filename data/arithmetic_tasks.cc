#include "absl/strings/str_cat.h"
#include "data/task.h"

namespace qkv {

using Tokens = std::vector<int64_t>;

// 123+989=2111: two numbers of `digits` digits, padded with zeros, and the sum with its digits in
// reverse, the units first (here 1112). So each digit of the answer needs only the digits of its
// column and the carry from the digit written just before.
Task addition_task(const DataOptions& options) {
  const auto digits = static_cast<size_t>(options.digits);

  Task task;
  task.token_texts = symbol_texts(10);
  task.token_texts.emplace_back("+");
  task.token_texts.emplace_back("=");
  task.training_length = task.validation_length = 3 * options.digits + 3;

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
  return task;
}

// 12 + 90 = 5 (modulo 97): each number is one token, as in Power et al. 2022, "Grokking". There are
// modulus * modulus questions; training sees a share of them, validation asks all the others.
Task modular_addition_task(const DataOptions& options) {
  const int64_t modulus = options.modulus;

  Task task;
  for (int64_t i = 0; i < modulus; ++i) task.token_texts.push_back(absl::StrCat(i));
  task.token_texts.emplace_back("+");
  task.token_texts.emplace_back("=");
  task.training_length = task.validation_length = 5;
  task.validate_on_all = true;

  task.draw = [modulus](Split, Choices& choices) {
    const int64_t a = choices.below(modulus);
    const int64_t b = choices.below(modulus);
    const int64_t plus = modulus;
    const int64_t equals = modulus + 1;
    return Example{{a, plus, b, equals}, {(a + b) % modulus}};
  };
  return task;
}

}  // namespace qkv
