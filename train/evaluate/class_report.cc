#include "train/evaluate/class_report.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "framework/core/columns.h"
#include "framework/core/terminal.h"
#include "framework/core/utf8.h"
#include "train/folder/reading_progress.h"

namespace qkv {
namespace {

constexpr size_t kLargestMatrix = 30;
constexpr size_t kListedPairs = 20;

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

int64_t count_at(const Evaluation& e, int64_t row, int64_t column) {
  return e.confusion[static_cast<size_t>(row * e.classes() + column)];
}

std::vector<int64_t> classes_that_occur(const std::vector<ClassScore>& scores) {
  std::vector<int64_t> classes;
  for (int64_t c = 0; c < std::ssize(scores); ++c) {
    const ClassScore& score = scores[static_cast<size_t>(c)];
    if (score.examples + score.answered > 0) classes.push_back(c);
  }
  return classes;
}

std::string part_of_matrix(const Evaluation& e, const std::vector<std::string>& names,
                           const std::vector<int64_t>& rows, std::span<const int64_t> columns) {
  std::vector<std::vector<std::string>> cells = {{"answered:"}};
  for (const int64_t column : columns) cells[0].push_back(names[static_cast<size_t>(column)]);
  for (const int64_t row : rows) {
    cells.push_back({names[static_cast<size_t>(row)]});
    for (const int64_t column : columns) {
      cells.back().push_back(absl::StrCat(count_at(e, row, column)));
    }
  }
  return aligned(cells, {.left = 1, .indent = "  "});
}

std::string confusion_matrix(const Evaluation& e, const std::vector<std::string>& names,
                             const std::vector<int64_t>& classes) {
  std::string text;
  const std::span<const int64_t> all(classes);
  for (size_t first = 0; first < all.size();) {
    // As many columns as fit, and at least one.
    size_t count = 1;
    const auto width = [&](size_t columns) {
      const std::string part = part_of_matrix(e, names, classes, all.subspan(first, columns));
      int64_t widest = 0;
      for (size_t begin = 0; begin < part.size();) {
        const size_t end = part.find('\n', begin);
        widest = std::max(widest, text_width(part.substr(begin, end - begin)));
        begin = end + 1;
      }
      return widest;
    };
    while (first + count < all.size() && width(count + 1) <= text_columns()) ++count;
    absl::StrAppend(&text, first > 0 ? "\n" : "",
                    part_of_matrix(e, names, classes, all.subspan(first, count)));
    first += count;
  }
  return text;
}

std::string most_confused(const Evaluation& e, const std::vector<std::string>& names,
                          const std::vector<int64_t>& classes) {
  struct Pair {
    int64_t count, expected, answered;
  };
  std::vector<Pair> pairs;
  for (const int64_t row : classes) {
    for (const int64_t column : classes) {
      if (row != column && count_at(e, row, column) > 0) {
        pairs.push_back({count_at(e, row, column), row, column});
      }
    }
  }
  std::ranges::stable_sort(pairs, std::greater(), &Pair::count);
  std::vector<std::vector<std::string>> rows = {{"expected", "answered", "times"}};
  for (const Pair& pair : std::span(pairs).first(std::min(pairs.size(), kListedPairs))) {
    rows.push_back({names[static_cast<size_t>(pair.expected)],
                    names[static_cast<size_t>(pair.answered)], absl::StrCat(pair.count)});
  }
  return aligned(rows, {.left = 2, .indent = "  "});
}

}  // namespace

double ClassScore::precision() const { return ratio(right, answered); }
double ClassScore::recall() const { return ratio(right, examples); }
double ClassScore::f1() const { return ratio(2 * right, examples + answered); }

std::vector<ClassScore> class_scores(const Evaluation& e) {
  const int64_t classes = e.classes();
  std::vector<ClassScore> scores(static_cast<size_t>(classes));
  for (int64_t row = 0; row < classes; ++row) {
    for (int64_t column = 0; column < classes; ++column) {
      const int64_t count = count_at(e, row, column);
      scores[static_cast<size_t>(row)].examples += count;
      scores[static_cast<size_t>(column)].answered += count;
      if (row == column) scores[static_cast<size_t>(row)].right += count;
    }
  }
  return scores;
}

double macro_f1(const std::vector<ClassScore>& scores) {
  const std::vector<int64_t> classes = classes_that_occur(scores);
  double sum = 0;
  for (const int64_t c : classes) sum += scores[static_cast<size_t>(c)].f1();
  return classes.empty() ? 0.0 : sum / static_cast<double>(classes.size());
}

std::string class_report(const Evaluation& e, const std::vector<std::string>& names) {
  const std::vector<ClassScore> scores = class_scores(e);
  const std::vector<int64_t> classes = classes_that_occur(scores);
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(escape(name));
  std::vector<std::vector<std::string>> rows = {{"class", "examples", "precision", "recall", "F1"}};
  for (const int64_t c : classes) {
    const ClassScore& s = scores[static_cast<size_t>(c)];
    rows.push_back({shown[static_cast<size_t>(c)], absl::StrCat(s.examples),
                    format_percent(s.precision()), format_percent(s.recall()),
                    format_percent(s.f1())});
  }
  return absl::StrCat(aligned(rows, {.left = 1, .indent = "  "}), "\n",
                      classes.size() > kLargestMatrix ? most_confused(e, shown, classes)
                                                      : confusion_matrix(e, shown, classes));
}

}  // namespace qkv
