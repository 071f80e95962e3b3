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

Text name_of_kind(const LabOption& option) {
  const bool several = option.longest > 1, is_limited = option.least > 1;
  const char* const s = several ? "s" : "";
  const std::string least = absl::StrCat(option.least), most = absl::StrCat(option.most);
  const Text limits = {absl::StrCat(s, " from ", least, " to ", most),
                       absl::StrCat("，", least, " 到 ", most)};
  switch (option.numbers) {
    case Numbers::kWhole:
      return Text{"whole number", "整数"} + limits;
    case Numbers::kOdd:
      return Text{"odd number", "奇数"} + limits;
    case Numbers::kMultiples:
      return {absl::StrCat("multiple", s, " of ", least, " up to ", most),
              absl::StrCat(least, " 的倍数，不超过 ", most)};
    case Numbers::kDivisors:
      return {absl::StrCat("divisor", s, " of ", most, several ? ", among them 1" : "",
                           is_limited ? absl::StrCat(" from ", least) : ""),
              absl::StrCat(most, " 的约数", several ? "，其中有 1" : "",
                           is_limited ? absl::StrCat("，至少 ", least) : "")};
    case Numbers::kReal:
      return Text{"number", "数"} + limits;
  }
  return {};
}

}  // namespace

Text wanted_by(const LabOption& option) {
  const Text kind = name_of_kind(option);
  if (option.longest == 1) return Text{"one ", "一个"} + kind;
  const std::string least = absl::StrCat(option.fewest), most = absl::StrCat(option.longest);
  return Text{absl::StrCat(least, " to ", most, " "), absl::StrCat(least, " 到 ", most, " 个")} +
         kind + Text{", in ascending order, separated by commas", "，从小到大，用逗号分隔"};
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
