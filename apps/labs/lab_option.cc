#include "apps/labs/lab_option.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/report/texts/texts.h"

namespace qkv {
namespace {

bool is_of_kind(const LabOption& option, double number) {
  switch (option.numbers) {
    case Numbers::kWhole:
      return std::trunc(number) == number;
    case Numbers::kOdd:
      return std::fmod(number, 2) == 1;
    case Numbers::kMultiples:
      return std::fmod(number, option.least) == 0;
    case Numbers::kDivisors:
      return std::fmod(option.most, number) == 0;
    case Numbers::kReal:
      return true;
  }
  return false;
}

bool may_be(const LabOption& option, const std::vector<double>& numbers) {
  const bool has_one = option.numbers != Numbers::kDivisors || option.longest == 1;
  return numbers.size() >= option.fewest && numbers.size() <= option.longest &&
         std::ranges::adjacent_find(numbers, std::greater_equal()) == numbers.end() &&
         (has_one || numbers.front() == 1);
}

Text name_of_kind(const LabOption& option) {
  const bool several = option.longest > 1, is_limited = option.least > 1;
  const double least = option.least, most = option.most;
  switch (option.numbers) {
    case Numbers::kWhole:
      return say(several ? "whole numbers from {0} to {1}" : "whole number from {0} to {1}", least,
                 most);
    case Numbers::kOdd:
      return say(several ? "odd numbers from {0} to {1}" : "odd number from {0} to {1}", least,
                 most);
    case Numbers::kMultiples:
      return say(several ? "multiples of {0} up to {1}" : "multiple of {0} up to {1}", least, most);
    case Numbers::kDivisors:
      return say(several      ? "divisors of {0}, among them 1"
                 : is_limited ? "divisor of {0} from {1}"
                              : "divisor of {0}",
                 most, least);
    case Numbers::kReal:
      return say(several ? "numbers from {0} to {1}" : "number from {0} to {1}", least, most);
  }
  return {};
}

}  // namespace

Text wanted_by(const LabOption& option) {
  const Text kind = name_of_kind(option);
  if (option.longest == 1) return say("one {0}", kind);
  return say("{0} to {1} {2}, in ascending order, separated by commas", option.fewest,
             option.longest, kind);
}

absl::StatusOr<std::vector<double>> read_option(const LabOption& option, const std::string& text) {
  const auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("--", option.name, " takes ", wanted_by(option).en, ", not \"", text, "\""));
  };
  std::vector<double> numbers;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, ','))) {
    double number = 0;
    const bool fits = absl::SimpleAtod(part, &number) && number >= option.least &&
                      number <= option.most && is_of_kind(option, number);
    if (!fits) return refuse();
    numbers.push_back(number);
  }
  if (!may_be(option, numbers)) return refuse();
  return numbers;
}

}  // namespace qkv
