#include "data/records.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/core/utf8.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// What is wrong with a line that is not UTF-8; "": nothing.
std::string utf8_mistake(std::string_view line) {
  for (size_t place = 0; place < line.size();) {
    const size_t length = code_point_length(line.substr(place));
    if (length == 0) {
      return absl::StrFormat(
          "is not UTF-8: byte 0x%02X at offset %d of the line; iconv can convert the file, for "
          "example from Latin-1: iconv -f latin1 -t utf-8",
          static_cast<unsigned char>(line[place]), place);
    }
    place += length;
  }
  return "";
}

absl::Status bad_record(std::string_view what) {
  return absl::InvalidArgumentError(std::string(what));
}

std::string quoted(const std::vector<std::string>& names) {
  return names.empty() ? "none"
                       : absl::StrCat("\"", printable(absl::StrJoin(names, "\", \"")), "\"");
}

RecordReader::Format format_of(std::string_view path) {
  const auto is = [&](const char* end) {
    return absl::EndsWithIgnoreCase(absl::string_view(path.data(), path.size()), end);
  };
  return is(".csv")                      ? RecordReader::Format::kCsv
         : is(".jsonl") || is(".ndjson") ? RecordReader::Format::kJsonLines
                                         : RecordReader::Format::kTabs;
}

bool is_blank(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isspace(c); });
}

}  // namespace

RecordReader::RecordReader(std::string_view path, RecordLayout layout, NextLine next)
    : format_(format_of(path)), layout_(std::move(layout)), next_(std::move(next)) {}

std::optional<std::string> RecordReader::next_line() {
  std::optional<std::string> line = next_();
  if (!line) return line;
  if (++line_ == 1 && line->starts_with(kByteOrderMark)) line->erase(0, kByteOrderMark.size());
  if (line->ends_with('\r')) line->pop_back();
  if (not_utf8_.empty()) not_utf8_ = utf8_mistake(*line);
  return line;
}

std::optional<absl::StatusOr<Record>> RecordReader::next() {
  if (format_ == Format::kCsv && !has_header_) {
    has_header_ = true;
    begin_ = 1;
    if (absl::Status header = read_header(); !header.ok()) {
      next_ = [] { return std::nullopt; };
      return header;
    }
  }
  not_utf8_.clear();
  std::optional<std::string> line = next_line();
  if (!line) return std::nullopt;
  begin_ = line_;
  if (is_blank(*line) && not_utf8_.empty()) return bad_record("is blank");
  absl::StatusOr<Record> record = parse(*std::move(line));
  if (!not_utf8_.empty()) return bad_record(not_utf8_);
  if (!record.ok()) return record;
  record->line = begin_;
  if (absl::Status status = check(*record); !status.ok()) return status;
  return record;
}

absl::Status RecordReader::read_header() {
  std::optional<std::string> line = next_line();
  if (!line) return absl::OkStatus();
  const absl::StatusOr<std::vector<std::string>> names =
      parse_csv_record(*std::move(line), [this] { return next_line(); });
  if (!not_utf8_.empty()) return bad_record(not_utf8_);
  if (!names.ok()) return names.status();
  columns_ = names->size();
  const auto find = [&](const std::string& name) -> std::optional<size_t> {
    const auto found = std::ranges::find(*names, name);
    if (found == names->end() || std::ranges::count(*names, name) > 1) return std::nullopt;
    return static_cast<size_t>(found - names->begin());
  };
  const std::optional<size_t> question = find(layout_.question);
  answer_column_ = find(layout_.answer);
  if (question && (answer_column_ || !layout_.answer_needed)) {
    question_column_ = *question;
    return absl::OkStatus();
  }
  return bad_record(absl::StrCat("the header has to name the column \"",
                                 question ? layout_.answer : layout_.question,
                                 "\" once; its columns are ", quoted(*names)));
}

absl::StatusOr<Record> RecordReader::parse(std::string line) {
  switch (format_) {
    case Format::kCsv:
      return parse_csv(std::move(line));
    case Format::kJsonLines:
      return parse_json(line);
    default:
      return parse_tabs(line);
  }
}

absl::StatusOr<Record> RecordReader::parse_tabs(std::string_view line) const {
  const auto tabs = std::ranges::count(line, '\t');
  if (tabs == 0 && !layout_.answer_needed) return Record{.question = std::string(line)};
  if (tabs != 1) {
    const auto& [question, answer, answer_first, needed] = layout_;
    return bad_record(absl::StrCat("has ", tabs == 0 ? "no tab" : absl::StrCat(tabs, " tabs"),
                                   ": a line is ", answer_first ? answer : question, "<TAB>",
                                   answer_first ? question : answer,
                                   line.starts_with('{') || line.starts_with('[')
                                       ? "; a file of JSON lines has a name that ends in .jsonl"
                                       : ""));
  }
  const size_t tab = line.find('\t');
  std::string first(line.substr(0, tab)), second(line.substr(tab + 1));
  if (layout_.answer_first) std::swap(first, second);
  return Record{.question = std::move(first), .answer = std::move(second)};
}

absl::StatusOr<Record> RecordReader::parse_csv(std::string line) {
  absl::StatusOr<std::vector<std::string>> fields =
      parse_csv_record(std::move(line), [this] { return next_line(); });
  if (!fields.ok()) return fields.status();
  if (fields->size() != columns_) {
    return bad_record(absl::StrCat("has ", fields->size(),
                                   fields->size() == 1 ? " field" : " fields",
                                   ", but the header has ", columns_));
  }
  Record record{.question = (*fields)[question_column_]};
  if (answer_column_) record.answer = (*fields)[*answer_column_];
  return record;
}

absl::StatusOr<Record> RecordReader::parse_json(std::string_view line) const {
  std::multiset<std::string> keys;  // an object keeps the last value of a key
  const auto see = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key) keys.insert(parsed);
    return true;
  };
  const auto object = nlohmann::json::parse(line, see, /*allow_exceptions=*/false);
  if (!object.is_object()) return bad_record("is not a JSON object");
  const auto text = [&](const std::string& key) -> absl::StatusOr<std::string> {
    const auto found = object.find(key);
    if (found == object.end()) {
      return bad_record(absl::StrCat("has no key \"", key, "\"; its keys are ",
                                     quoted({keys.begin(), keys.end()})));
    }
    if (keys.count(key) > 1) return bad_record(absl::StrCat("has the key \"", key, "\" twice"));
    if (found->is_number_integer()) return found->dump();
    if (!found->is_string()) {
      return bad_record(absl::StrCat("\"", key, "\" is neither a string nor an integer"));
    }
    return found->get<std::string>();
  };
  absl::StatusOr<std::string> question = text(layout_.question);
  if (!question.ok()) return question.status();
  Record record{.question = *std::move(question)};
  if (!layout_.answer_needed && !object.contains(layout_.answer)) return record;
  absl::StatusOr<std::string> answer = text(layout_.answer);
  if (!answer.ok()) return answer.status();
  record.answer = *std::move(answer);
  return record;
}

absl::Status RecordReader::check(const Record& record) const {
  if (is_blank(record.question))
    return bad_record(absl::StrCat("the ", layout_.question, " is empty"));
  if (record.answer && is_blank(*record.answer)) {
    return bad_record(absl::StrCat("the ", layout_.answer, " is empty"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Record>> read_records(const std::string& path,
                                                 const RecordLayout& layout,
                                                 FileMistakes& mistakes) {
  const absl::StatusOr<std::string> text = read_regular_file(path);
  if (!text.ok()) return text.status();
  size_t place = 0;
  const auto next_line = [&]() -> std::optional<std::string> {
    if (place >= text->size()) return std::nullopt;
    const size_t end = std::min(text->find('\n', place), text->size());
    std::string line = text->substr(place, end - place);
    place = end + 1;
    return line;
  };
  RecordReader reader(path, layout, next_line);
  std::vector<Record> records;
  bool is_empty = true;
  while (std::optional<absl::StatusOr<Record>> record = reader.next()) {
    is_empty = false;
    if (record->ok()) {
      records.push_back(**std::move(record));
    } else {
      mistakes.add(path, reader.line(), std::string(record->status().message()));
    }
  }
  if (is_empty) return absl::InvalidArgumentError(absl::StrCat(path, ": has no example"));
  return records;
}

}  // namespace qkv
