#include "lessons/labs/lab_option.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

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

std::string name_of_kind(const LabOption& option) {
  const char* const s = option.longest > 1 ? "s" : "";
  const std::string limits = absl::StrCat(" from ", option.least, " to ", option.most);
  switch (option.numbers) {
    case Numbers::kWhole:
      return absl::StrCat("whole number", s, limits);
    case Numbers::kOdd:
      return absl::StrCat("odd number", s, limits);
    case Numbers::kMultiples:
      return absl::StrCat("multiple", s, " of ", option.least, " up to ", option.most);
    case Numbers::kDivisors:
      return absl::StrCat("divisor", s, " of ", option.most,
                          option.longest > 1 ? ", among them 1" : "");
    case Numbers::kReal:
      return absl::StrCat("number", s, limits);
  }
  return "";
}

}  // namespace

std::string wanted_by(const LabOption& option) {
  const std::string kind = name_of_kind(option);
  if (option.longest == 1) return absl::StrCat("one ", kind);
  return absl::StrCat(option.fewest, " to ", option.longest, " ", kind,
                      ", in ascending order, separated by commas");
}

absl::StatusOr<std::vector<double>> read_option(const LabOption& option, const std::string& text) {
  const auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("--", option.name, " takes ", wanted_by(option), ", not \"", text, "\""));
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
