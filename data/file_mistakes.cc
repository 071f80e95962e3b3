#include "data/file_mistakes.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "framework/core/mistakes.h"

namespace qkv {
namespace {

constexpr int64_t kToldMistakes = 20;

}  // namespace

void FileMistakes::add(std::string_view path, int64_t line, std::string_view what) {
  if (++count_ > kToldMistakes) return;
  mistakes_.push_back({std::string(path), line, std::string(what)});
}

absl::Status FileMistakes::status() const {
  if (empty()) return absl::OkStatus();
  std::vector<Mistake> mistakes = mistakes_;
  std::ranges::stable_sort(mistakes, {}, [](const Mistake& m) { return std::tie(m.path, m.line); });
  std::vector<std::string> lines;
  for (const auto& [path, line, what] : mistakes) {
    lines.push_back(line == 0 ? absl::StrCat(path, ": ", what)
                              : absl::StrCat(path, ":", line, ": ", what));
  }
  if (count_ > kToldMistakes) {
    lines.push_back(absl::StrCat("… and ", count_ - kToldMistakes, " more like these"));
  }
  return mistakes_error(lines);
}

}  // namespace qkv
