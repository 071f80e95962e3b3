#include "train/config/suggest.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace qkv {
namespace {

// How many letters to insert, remove, replace or swap with their neighbour to turn a into b
// (optimal string alignment).
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1), above(row), two_above(row);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_above, above);
    std::swap(above, row);
    row.assign(b.size() + 1, i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string initials(const std::string& name) {
  std::string letters;
  for (absl::string_view part : absl::StrSplit(name, '_', absl::SkipEmpty())) letters += part[0];
  return letters;
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 64;  // nothing that long is a typing mistake
  if (word.size() > kLongest) return "";
  std::string lower = absl::AsciiStrToLower(word);
  std::replace(lower.begin(), lower.end(), '-', '_');

  std::string best;
  size_t best_distance = std::max<size_t>(1, lower.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t a = lower.size(), b = candidate.size();
    if ((a < b ? b - a : a - b) >= best_distance) continue;  // as many letters to insert or remove
    const size_t distance = edit_distance(lower, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty()) return best;
  for (const std::string& candidate : candidates) {
    const bool is_part = lower.size() >= 3 && candidate.find(lower) != std::string::npos;
    const bool is_initials = lower.size() >= 2 && initials(candidate) == lower;
    if (is_part || is_initials) return candidate;
  }
  return "";
}

std::string list_in_words(const std::vector<std::string>& words, const char* conjunction) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && i + 1 == words.size()) {
      absl::StrAppend(&list, " ", conjunction, " ");
    } else if (i > 0) {
      absl::StrAppend(&list, ", ");
    }
    absl::StrAppend(&list, words[i]);
  }
  return list;
}

std::string quoted_list(const std::vector<std::string>& words, const char* conjunction) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(absl::StrCat("\"", word, "\""));
  return list_in_words(quoted, conjunction);
}

}  // namespace qkv
