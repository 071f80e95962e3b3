#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/check/mutation/mutation.h"
#include "framework/core/text/columns.h"

namespace qkv {
namespace {

// How many were planted, and how many of them were killed where some were not.
std::string to_text(const MutationCount& count) {
  if (count.planted == 0) return "-";
  if (count.killed == count.planted) return absl::StrCat(count.planted);
  return absl::StrCat(count.killed, "/", count.planted);
}

constexpr size_t kAll = kMistakeKinds;  // the last column: of all kinds

char letter_of(size_t kind) { return static_cast<char>('a' + kind); }

// The kinds are letters over the columns, and named below.
std::vector<std::string> table_head() {
  std::vector<std::string> head = {"function"};
  for (size_t kind = 0; kind < kMistakeKinds; ++kind) head.emplace_back(1, letter_of(kind));
  head.emplace_back("all");
  return head;
}

// "a: sign", …, three in a line.
std::string table_key() {
  constexpr size_t kInLine = 3;
  std::vector<std::vector<std::string>> lines;
  for (size_t kind = 0; kind < kMistakeKinds; ++kind) {
    if (kind % kInLine == 0) lines.emplace_back();
    lines.back().push_back(absl::StrCat(std::string(1, letter_of(kind)), ": ",
                                        name_of(static_cast<MistakeKind>(kind))));
  }
  return aligned(lines, {.left = kInLine});
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
  std::vector<std::vector<std::string>> lines = {table_head()};
  for (const MutationRow& row : table_rows) {
    std::vector<std::string>& line = lines.emplace_back(1, row.function);
    for (const MutationCount& count : row.counts) line.push_back(qkv::to_text(count));
  }
  std::string text = aligned(lines, {.left = 1, .least_width = 2});
  absl::StrAppend(&text, table_key(), below);
  absl::StrAppendFormat(&text,
                        "mutation score %.2f %%: %d of %d mutants caught; %d equivalent, %d that "
                        "cannot run\n",
                        score(), killed(), table_rows.back().counts[kAll].planted, equivalent(),
                        not_runnable);
  return text;
}

}  // namespace qkv
