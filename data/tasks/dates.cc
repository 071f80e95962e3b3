#include <array>
#include <chrono>

#include "absl/strings/string_view.h"
#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

constexpr int64_t kFirstYear = 1950;  // of a hundred: two digits are enough
constexpr int64_t kYears = 100;

constexpr std::array kMonths = {"January",   "February", "March",    "April",
                                "May",       "June",     "July",     "August",
                                "September", "October",  "November", "December"};

int64_t days_of(int64_t year, int64_t month) {
  const std::chrono::year_month_day_last last(
      std::chrono::year(static_cast<int>(year)),
      std::chrono::month_day_last(std::chrono::month(static_cast<unsigned>(month))));
  return static_cast<unsigned>(last.day());
}

constexpr int64_t kForms = 8;

absl::Dec two_digits(int64_t number) { return absl::Dec(number, absl::kZeroPad2); }

// No two forms write anything the same.
std::string write(int64_t form, int64_t year, int64_t month, int64_t day) {
  const std::string name = kMonths[month - 1];
  const auto short_name = absl::string_view(name).substr(0, 3);
  const auto dd = two_digits(day), mm = two_digits(month), yy = two_digits(year % 100);
  switch (form) {
    case 0:
      return absl::StrCat(day, " ", name, " ", year);
    case 1:
      return absl::StrCat(name, " ", day, ", ", year);
    case 2:
      return absl::StrCat(day, "-", short_name, "-", year);
    case 3:
      return absl::StrCat(day, "-", short_name, "-", yy);
    case 4:
      return absl::StrCat(dd, "/", mm, "/", year);
    case 5:
      return absl::StrCat(dd, "/", mm, "/", yy);
    case 6:
      return absl::StrCat(day, ".", month, ".", year);
    default:
      return absl::StrCat(day, ".", month, ".", yy);
  }
}

Sentence draw_dates(Choices& choices) {
  const int64_t form = choices.below(kForms);
  const int64_t year = kFirstYear + choices.below(kYears);
  const int64_t month = choices.between(1, 12);
  const int64_t day = choices.between(1, days_of(year, month));
  return {write(form, year, month, day),
          absl::StrCat(year, "-", two_digits(month), "-", two_digits(day))};
}

}  // namespace

// 3 March 1987=1987-03-03: a date as people write it, and as ISO 8601 does. In numbers the day
// comes first, as in most of the world: 03/04/87 is in April. Two digits are a year of 1950 … 2049.
TaskKind dates_task() {
  std::string characters = "0123456789 ,-./";
  for (const char* name : kMonths) characters += name;
  return sentence_task({.name = "dates",
                        .token_texts = characters_of(characters),
                        .draw = draw_dates,
                        .longest_question = std::ssize("September 30, 2049") - 1,
                        .answer_length = std::ssize("2049-09-30") - 1});
}

}  // namespace qkv
