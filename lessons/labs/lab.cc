#include "lessons/labs/lab.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

constexpr double kMostInteger = 1e9;

const LabOption* find_option(const Lab& lab, const std::string& name) {
  const auto found = std::ranges::find(lab.options, name, &LabOption::name);
  return found == lab.options.end() ? nullptr : &*found;
}

absl::Status check_option(const Lab& lab, const std::string& name, const std::string& value) {
  const LabOption* const option = find_option(lab, name);
  if (option == nullptr) {
    std::vector<std::string> names;
    for (const LabOption& each : lab.options) names.push_back(absl::StrCat("--", each.name));
    return absl::InvalidArgumentError(
        absl::StrCat("the lab ", lab.name, " does not take --", name,
                     names.empty() ? "" : absl::StrCat("; it takes ", absl::StrJoin(names, ", "))));
  }
  for (const std::string& text : std::vector<std::string>(absl::StrSplit(value, ','))) {
    double number = 0;
    if (absl::SimpleAtod(text, &number) && std::isfinite(number) && number > 0 &&
        number <= kMostInteger) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "--", name, ": expected positive numbers with commas between, found \"", value, "\""));
  }
  return absl::OkStatus();
}

}  // namespace

LabContext::LabContext(std::map<std::string, std::string> values, bool is_control, std::string runs,
                       Progress progress)
    : values_(std::move(values)),
      is_control_(is_control),
      runs_(std::move(runs)),
      progress_(std::move(progress)) {}

std::vector<double> LabContext::numbers(const std::string& option) const {
  const auto found = values_.find(option);
  if (found == values_.end()) fail(absl::StrCat("lab: there is no option ", option));
  std::vector<double> numbers;
  for (const std::string& text : std::vector<std::string>(absl::StrSplit(found->second, ','))) {
    double number = 0;
    if (!absl::SimpleAtod(text, &number)) fail(absl::StrCat("lab: ", text, " is no number"));
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<int64_t> LabContext::integers(const std::string& option) const {
  std::vector<int64_t> integers;
  for (const double number : numbers(option)) integers.push_back(std::llround(number));
  return integers;
}

int64_t LabContext::integer(const std::string& option) const { return integers(option).front(); }

std::vector<uint64_t> LabContext::seeds() const {
  std::vector<uint64_t> seeds;
  for (int64_t i = 1; i <= integer("seeds"); ++i) seeds.push_back(static_cast<uint64_t>(i));
  return seeds;
}

absl::StatusOr<Report> run_lab(const Lab& lab, const std::map<std::string, std::string>& options,
                               bool is_control, const std::string& runs,
                               const LabContext::Progress& progress) {
  for (const auto& [name, value] : options) {
    if (absl::Status s = check_option(lab, name, value); !s.ok()) return s;
  }
  std::map<std::string, std::string> values = options;
  Report report = {.name = lab.name,
                   .question = lab.question,
                   .control = is_control ? lab.control : "",
                   .options = {},
                   .sections = {}};
  for (const LabOption& option : lab.options) {
    values.try_emplace(option.name, option.if_missing);
    report.options.emplace_back(option.name, values[option.name]);
  }
  report.sections = lab.run(LabContext(std::move(values), is_control, runs, progress));
  return report;
}

}  // namespace qkv
