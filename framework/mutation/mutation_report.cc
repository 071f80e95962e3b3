#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "framework/mutation/mutation.h"

namespace qkv {
namespace {

// How many were planted, and how many of them were killed where some were not.
std::string to_text(const MutationCount& count) {
  if (count.planted == 0) return "-";
  if (count.killed == count.planted) return absl::StrCat(count.planted);
  return absl::StrCat(count.killed, "/", count.planted);
}

constexpr size_t kAll = kMistakeKinds;  // the last column: of all kinds

std::string column_name(size_t column) {
  return column == kAll ? "all" : std::string(mistake_name(static_cast<MistakeKind>(column)));
}

// The names of the kinds, a word in each line, over the columns; then the rows.
class Table {
 public:
  explicit Table(size_t name_width) : name_width_(name_width) {
    for (size_t column = 0; column <= kAll; ++column) {
      words_.push_back(absl::StrSplit(column_name(column), ' '));
      size_t width = 9;  // of "1000/1000"
      for (const std::string& word : words_.back()) width = std::max(width, word.size());
      widths_.push_back(width);
      height_ = std::max(height_, words_.back().size());
    }
  }

  std::string head() const {
    std::string text;
    for (size_t line = 0; line < height_; ++line) {
      absl::StrAppend(&text, padded("", name_width_));
      for (size_t column = 0; column <= kAll; ++column) {
        const std::vector<std::string>& words = words_[column];
        const size_t above = height_ - words.size();  // empty lines
        append_cell(&text, column, line < above ? "" : words[line - above]);
      }
      absl::StrAppend(&text, "\n");
    }
    return text;
  }

  std::string row(const MutationRow& row) const {
    std::string text = padded(row.function, name_width_);
    for (size_t column = 0; column <= kAll; ++column) {
      append_cell(&text, column, to_text(row.counts[column]));
    }
    return absl::StrCat(text, "\n");
  }

 private:
  static std::string padded(const std::string& text, size_t width) {
    return text + std::string(width - std::min(width, text.size()), ' ');
  }
  void append_cell(std::string* text, size_t column, const std::string& cell) const {
    absl::StrAppend(text, "  ", std::string(widths_[column] - cell.size(), ' '), cell);
  }

  size_t name_width_;
  size_t height_ = 1;
  std::vector<std::vector<std::string>> words_;
  std::vector<size_t> widths_;
};

}  // namespace

std::string Mutant::to_text() const {
  return absl::StrCat(function, ": ", op == function ? "" : absl::StrCat(op, ": "), where, " ",
                      change);
}

int64_t MutationReport::killed() const {
  return std::ranges::count(results, true, &MutationResult::killed);
}

int64_t MutationReport::equivalent() const {
  return std::ranges::count_if(
      results, [](const MutationResult& r) { return !r.killed && !r.equivalent_because.empty(); });
}

std::vector<Mutant> MutationReport::survivors() const {
  std::vector<Mutant> mutants;
  for (const MutationResult& r : results) {
    if (!r.killed && r.equivalent_because.empty()) mutants.push_back(r.mutant);
  }
  return mutants;
}

double MutationReport::score() const {
  const auto planted = static_cast<int64_t>(results.size()) - equivalent();
  return planted == 0 ? 100.0
                      : 100.0 * static_cast<double>(killed()) / static_cast<double>(planted);
}

std::vector<MutationRow> MutationReport::rows() const {
  std::vector<MutationRow> rows;
  MutationRow all{.function = "all", .counts = {}};
  for (const MutationResult& r : results) {
    if (!r.killed && !r.equivalent_because.empty()) continue;
    const std::string& name = r.mutant.function;
    if (rows.empty() || rows.back().function != name) {
      rows.push_back({.function = name, .counts = {}});
    }
    for (MutationRow* row : {&rows.back(), &all}) {
      for (const size_t column : {static_cast<size_t>(r.mutant.kind), kAll}) {
        ++row->counts[column].planted;
        row->counts[column].killed += r.killed ? 1 : 0;
      }
    }
  }
  rows.push_back(all);
  return rows;
}

std::string MutationReport::to_text() const {
  std::string below;
  for (const MutationResult& r : results) {
    if (r.killed || r.equivalent_because.empty()) continue;
    absl::StrAppend(&below, "equivalent: ", r.mutant.to_text(), ": ", r.equivalent_because, "\n");
  }
  for (const Mutant& mutant : survivors()) {
    absl::StrAppend(&below, "SURVIVED: ", mutant.to_text(), "\n");
  }
  const std::vector<MutationRow> table_rows = rows();
  size_t name_width = 4;
  for (const MutationRow& row : table_rows) name_width = std::max(name_width, row.function.size());
  const Table table(name_width);
  std::string text = table.head();
  for (const MutationRow& row : table_rows) absl::StrAppend(&text, table.row(row));
  absl::StrAppend(&text, below);
  absl::StrAppendFormat(&text,
                        "mutation score %.2f %%: %d of %d mutants caught; %d equivalent, %d that "
                        "cannot run\n",
                        score(), killed(), table_rows.back().counts[kAll].planted, equivalent(),
                        not_runnable);
  return text;
}

}  // namespace qkv
