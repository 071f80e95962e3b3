#include "apps/labs/own_note.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/labs/catalogue.h"
#include "apps/labs/kit/lab_texts.h"
#include "framework/core/text/utf8.h"
#include "framework/io/files.h"
#include "train/config/suggest.h"

namespace qkv {
namespace {

constexpr const char* kMark = "{lab:";

// Where the last sentence of a text begins: behind the last sign that ends another.
size_t last_sentence(const std::string& text) {
  constexpr size_t kOwnEnd = 3;  // bytes of 。
  const std::string before = text.substr(0, text.size() - std::min(kOwnEnd, text.size()));
  size_t begin = 0;
  for (const std::string sign : {". ", "! ", "? ", "。", "！", "？"}) {
    const size_t at = before.rfind(sign);
    if (at != before.npos) begin = std::max(begin, at + sign.size());
  }
  return begin;
}

absl::Status check_mark(const std::string& lab, const std::string& section) {
  if (absl::Status s = find_lab(lab).status(); !s.ok() || section.empty()) return s;
  std::vector<std::string> sections;
  for (const std::string& name : names_of_sections()) {
    if (name.starts_with(lab + ".")) sections.push_back(name.substr(lab.size() + 1));
  }
  if (std::ranges::find(sections, section) != sections.end()) return absl::OkStatus();
  const std::string meant = nearest(section, sections);
  return absl::NotFoundError(
      absl::StrCat("the lab ", lab, " has no section \"", section, "\"",
                   meant.empty() ? "" : absl::StrCat("; did you mean \"", lab, ".", meant, "\"?")));
}

// Takes the text up to the end of the first mark from the line.
absl::StatusOr<NotePart> take_part(std::string& line) {
  const size_t mark = line.find(kMark), end = line.find('}', mark);
  if (end == line.npos) return absl::InvalidArgumentError("a mark has no }");
  const std::string name(
      absl::StripAsciiWhitespace(line.substr(mark, end - mark).substr(std::string(kMark).size())));
  const std::pair<std::string, std::string> names = absl::StrSplit(name, absl::MaxSplits('.', 1));
  NotePart part = {.plain = line.substr(0, mark), .lab = names.first, .section = names.second};
  absl::StripTrailingAsciiWhitespace(&part.plain);
  const size_t begin =
      std::min(part.plain.find_first_not_of(' ', last_sentence(part.plain)), part.plain.size());
  part.sentence = part.plain.substr(begin);
  part.plain.resize(begin);
  line.erase(0, end + 1);
  if (part.sentence.find_first_not_of("#->*. ") == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("no sentence stands before the mark {lab: ", name, "}"));
  }
  if (absl::Status s = check_mark(part.lab, part.section); !s.ok()) return s;
  return part;
}

}  // namespace

absl::StatusOr<std::vector<NotePart>> read_own_note(const std::string& path) {
  const absl::StatusOr<std::string> text = read_regular_file(path);
  if (!text.ok()) return text.status();
  std::vector<NotePart> parts;
  int64_t number = 0;
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", why));
  };
  for (std::string line : std::vector<std::string>(absl::StrSplit(*text, '\n'))) {
    ++number;
    if (!is_utf8(line)) return refuse("the note is not in UTF-8");
    while (line.find(kMark) != line.npos) {
      absl::StatusOr<NotePart> part = take_part(line);
      if (!part.ok()) return refuse(part.status().message());
      parts.push_back(*std::move(part));
    }
    parts.push_back({.plain = line + "\n"});
  }
  if (std::ranges::all_of(parts, [](const NotePart& part) { return part.lab.empty(); })) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no sentence has a mark, such as {lab: scaling}"));
  }
  return parts;
}

}  // namespace qkv
