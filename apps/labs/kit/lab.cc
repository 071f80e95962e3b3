#include "apps/labs/kit/lab.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "apps/report/texts/texts.h"
#include "framework/core/each_of.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

absl::Status check_name(const Lab& lab, const std::string& name) {
  std::vector<std::string> names;
  for (const LabOption& each : lab.options) {
    if (each.name == name) return absl::OkStatus();
    names.push_back(absl::StrCat("--", each.name));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the lab ", lab.name, " does not take --", name,
                   names.empty() ? "" : absl::StrCat("; it takes ", absl::StrJoin(names, ", "))));
}

// {--d} in a text is what the option d is.
void fill_in_options(Report& report) {
  for (Section& section : report.sections) {
    for (const auto& [name, value] : report.options) {
      const std::string place = "--" + name;
      section.prediction = filled_in(section.prediction, place, value);
      for (auto* const remarks : {&section.conditions, &section.corrections}) {
        for (Remark& remark : *remarks) remark.text = filled_in(remark.text, place, value);
      }
    }
  }
}

std::string text_of(const LabOption& option, const std::map<std::string, std::string>& options) {
  const auto given = options.find(option.name);
  return given == options.end() ? option.if_missing : given->second;
}

}  // namespace

LabContext::LabContext(const Lab& lab, Values values, std::string control, std::string runs,
                       TellProgress tell)
    : lab_(lab),
      values_(std::move(values)),
      control_(std::move(control)),
      runs_(std::move(runs)),
      tell_(std::move(tell)) {}

const std::vector<double>& LabContext::numbers(const std::string& option) const {
  const auto found = values_.find(option);
  if (found == values_.end()) fail(absl::StrCat("lab: there is no option ", option));
  return found->second;
}

std::vector<int64_t> LabContext::integers(const std::string& option) const {
  return each_of(numbers(option), [](double number) { return int64_t{std::llround(number)}; });
}

LabContext LabContext::with(const std::string& option, double number) const {
  LabContext other = *this;
  other.values_[option] = {number};
  return other;
}

int64_t LabContext::integer(const std::string& option) const { return integers(option).front(); }

std::vector<uint64_t> LabContext::seeds() const {
  std::vector<uint64_t> seeds;
  for (int64_t i = 1; i <= integer("seeds"); ++i) seeds.push_back(static_cast<uint64_t>(100 + i));
  return seeds;
}

absl::StatusOr<LabContext::Values> read_options(const Lab& lab,
                                                const std::map<std::string, std::string>& options) {
  for (const auto& [name, text] : options) {
    if (absl::Status s = check_name(lab, name); !s.ok()) return s;
  }
  LabContext::Values values;
  for (const LabOption& option : lab.options) {
    absl::StatusOr<std::vector<double>> numbers = read_option(option, text_of(option, options));
    if (!numbers.ok()) return numbers.status();
    values[option.name] = *std::move(numbers);
  }
  return values;
}

absl::StatusOr<Report> run_lab(const Lab& lab, const std::map<std::string, std::string>& options,
                               bool is_control, const std::string& runs, const TellProgress& tell) {
  absl::StatusOr<LabContext::Values> values = read_options(lab, options);
  if (!values.ok()) return values.status();
  Report report = {.name = lab.name,
                   .question = lab.question,
                   .is_control = is_control,
                   .measures_time = lab.measures_time};
  for (const LabOption& option : lab.options) {
    report.options.emplace_back(option.name, text_of(option, options));
  }
  const auto run = [&](const std::string& control) {
    return lab.run(LabContext(lab, *values, control, runs, tell));
  };
  if (is_control) {
    for (const auto& [name, what] : lab.controls) {
      for (Section& section : run(name)) {
        if (section.control_name != name) continue;
        section.control = what;
        report.sections.push_back(std::move(section));
      }
    }
  } else {
    report.sections = run("");
    report.sections.insert(report.sections.end(), lab.unmeasured.begin(), lab.unmeasured.end());
  }
  report.correct_for_chance();
  fill_in_options(report);
  return report;
}

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
