#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "framework/core/columns.h"
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

// The names of the kinds over the columns, a word in each line, the last ones at the bottom.
std::vector<std::vector<std::string>> table_head() {
  std::vector<std::vector<std::string>> columns;
  size_t height = 1;
  for (size_t column = 0; column <= kAll; ++column) {
    columns.push_back(absl::StrSplit(column_name(column), ' '));
    height = std::max(height, columns.back().size());
  }
  std::vector<std::vector<std::string>> lines(height, {""});
  for (const std::vector<std::string>& words : columns) {
    for (size_t line = 0; line < height; ++line) {
      const size_t above = height - words.size();  // empty lines
      lines[line].push_back(line < above ? "" : words[line - above]);
    }
  }
  return lines;
}

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
  std::vector<std::vector<std::string>> lines = table_head();
  for (const MutationRow& row : table_rows) {
    std::vector<std::string>& line = lines.emplace_back(1, row.function);
    for (const MutationCount& count : row.counts) line.push_back(qkv::to_text(count));
  }
  constexpr int64_t kLeastWidth = 9;  // of "1000/1000"
  std::string text = aligned(lines, {.left = 1, .least_width = kLeastWidth});
  absl::StrAppend(&text, below);
  absl::StrAppendFormat(&text,
                        "mutation score %.2f %%: %d of %d mutants caught; %d equivalent, %d that "
                        "cannot run\n",
                        score(), killed(), table_rows.back().counts[kAll].planted, equivalent(),
                        not_runnable);
  return text;
}

}  // namespace qkv
