#include "data/records/records.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "framework/core/text/mistakes.h"
#include "framework/core/text/utf8.h"
#include "framework/io/files.h"
#include "framework/io/json_mistake.h"

namespace qkv {
namespace {

std::string quoted(const std::vector<std::string>& names) {
  return names.empty() ? "none" : absl::StrCat("\"", listed(names, "\", \""), "\"");
}

RecordReader::Format format_of(std::string_view path) {
  const auto is = [&](const char* end) {
    return absl::EndsWithIgnoreCase(absl::string_view(path.data(), path.size()), end);
  };
  return is(".csv")                      ? RecordReader::Format::kCsv
         : is(".jsonl") || is(".ndjson") ? RecordReader::Format::kJsonLines
                                         : RecordReader::Format::kTabs;
}

// Reads JSON as the parser does, but an integer of more than 64 bits as its digits.
class JsonReader : public nlohmann::detail::json_sax_dom_parser<nlohmann::json> {
 public:
  using Base = nlohmann::detail::json_sax_dom_parser<nlohmann::json>;
  explicit JsonReader(nlohmann::json& made) : Base(made, /*allow_exceptions=*/false) {}

  std::vector<std::string> keys;  // of the object: one keeps the last value of a key
  std::string mistake;

  bool number_float(double number, const std::string& digits) {
    if (digits.find_first_of(".eE") != digits.npos) return Base::number_float(number, digits);
    std::string text = digits;
    return string(text);
  }
  bool start_object(size_t size) { return ++depth_, Base::start_object(size); }
  bool end_object() { return --depth_, Base::end_object(); }
  bool key(std::string& name) {
    if (depth_ == 1) keys.push_back(name);
    return Base::key(name);
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) {
    mistake = json_reason(error.what());
    return false;
  }

 private:
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> parse_csv_record(std::string line, const NextLine& next) {
  std::vector<std::string> fields;
  const auto wrong = [&fields](const char* what) {
    return invalid_argument(what, " field ", fields.size() + 1);
  };
  for (size_t place = 0;; ++place) {  // a field begins at each place
    std::string field;
    if (place < line.size() && line[place] == '"') {
      for (++place;; ++place) {
        if (place >= line.size()) {
          std::optional<std::string> more = next();
          if (!more) return wrong("the file ends inside of the quoted");
          field += '\n';
          line = *std::move(more);
          place = static_cast<size_t>(-1);
        } else if (line[place] != '"') {
          field += line[place];
        } else if (place + 1 < line.size() && line[place + 1] == '"') {
          field += line[++place];
        } else {
          break;
        }
      }
      ++place;
      if (place < line.size() && line[place] != ',') {
        return wrong("only a comma may follow the closing quote of");
      }
    } else {
      for (; place < line.size() && line[place] != ','; ++place) {
        if (line[place] == '"') return wrong("a quote stands in the unquoted");
        field += line[place];
      }
    }
    fields.push_back(std::move(field));
    if (place >= line.size()) return fields;
  }
}

RecordReader::RecordReader(std::string_view path, RecordLayout layout, NextLine next)
    : format_(format_of(path)), layout_(std::move(layout)), next_(std::move(next)) {}

absl::Status RecordReader::end_with(const std::string& what) {
  next_ = [] { return std::nullopt; };
  rest_.clear();
  return invalid_argument(what);
}

// "\r\n" and "\r" end a line, too.
std::optional<std::string> RecordReader::next_line() {
  std::optional<std::string> line = rest_.empty() ? next_() : std::exchange(rest_, "");
  if (!line) return line;
  if (++line_ == 1 && line->starts_with(kByteOrderMark)) line->erase(0, kByteOrderMark.size());
  if (const size_t end = line->find('\r'); end != std::string::npos) {
    rest_ = line->substr(end + 1);
    line->resize(end);
  }
  const size_t place = not_utf8_.empty() ? first_not_utf8(*line) : std::string::npos;
  if (place != std::string::npos) not_utf8_ = no_utf8((*line)[place], place);
  return line;
}

std::optional<absl::StatusOr<Record>> RecordReader::next() {
  if (format_ == Format::kCsv && !has_header_) {
    has_header_ = true;
    begin_ = 1;
    if (absl::Status header = read_header(); !header.ok())
      return end_with(std::string(header.message()));
  }
  not_utf8_.clear();
  std::optional<std::string> line = next_line();
  if (!line) return std::nullopt;
  begin_ = line_;
  if (const std::string other = line_ == 1 ? other_than_text(*line) : ""; !other.empty()) {
    return end_with(other);
  }
  if (is_blank(*line) && not_utf8_.empty()) return invalid_argument("is blank");
  absl::StatusOr<Record> record = parse(*std::move(line));
  if (!not_utf8_.empty()) return invalid_argument(not_utf8_);
  if (!record.ok()) return record;
  record->line = begin_;
  RETURN_IF_ERROR(check(*record));
  return record;
}

absl::Status RecordReader::read_header() {
  std::optional<std::string> line = next_line();
  if (!line) return absl::OkStatus();
  if (const std::string other = other_than_text(*line); !other.empty())
    return invalid_argument(other);
  const absl::StatusOr<std::vector<std::string>> names =
      parse_csv_record(*std::move(line), [this] { return next_line(); });
  if (!not_utf8_.empty()) return invalid_argument(not_utf8_);
  if (!names.ok()) return names.status();
  columns_ = names->size();
  const auto find = [&](const std::string& name) -> std::optional<size_t> {
    const auto found = std::ranges::find(*names, nfc(name), nfc);
    if (found == names->end() || std::ranges::count(*names, nfc(name), nfc) > 1)
      return std::nullopt;
    return static_cast<size_t>(found - names->begin());
  };
  const std::optional<size_t> question = find(layout_.question);
  answer_column_ = find(layout_.answer);
  if (question && (answer_column_ || !layout_.answer_needed)) {
    question_column_ = *question;
    return absl::OkStatus();
  }
  const size_t other =
      names->size() == 1 ? names->front().find_first_of(";\t|") : std::string::npos;
  return invalid_argument(
      "the header has to name the column \"", question ? layout_.answer : layout_.question,
      "\" once; its columns are ", quoted(*names),
      other == std::string::npos
          ? other_keys(*names)
          : absl::StrCat("; a comma separates columns, not \"",
                         escape(names->front().substr(other, 1)), "\": save the file with commas"));
}

// How to read other columns or keys, where a file does not have that of the question or the answer.
std::string RecordReader::other_keys(const std::vector<std::string>& names) const {
  static const std::set<std::string> kAnswers = {"answer", "category", "class",  "label", "output",
                                                 "reply",  "response", "target", "y"};
  std::string advice;
  const auto advise = [&](const char* option, const std::string& key, const std::string& other) {
    if (std::ranges::count(names, nfc(key), nfc) > 0) return;
    const auto found = std::ranges::find_if(names, [&](const std::string& name) {
      const bool is_answer = kAnswers.contains(absl::AsciiStrToLower(name));
      return name != other && is_answer == (&key == &layout_.answer);
    });
    absl::StrAppend(&advice, "; another one is read with --set ", option, "=",
                    found == names.end() ? "NAME" : printable(*found));
  };
  if (!layout_.answer_needed) return "";  // a run has its keys
  advise("data.question_key", layout_.question, layout_.answer);
  advise("data.answer_key", layout_.answer, layout_.question);
  return advice;
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
    const auto& [first, second] = layout_.answer_first ? std::tie(layout_.answer, layout_.question)
                                                       : std::tie(layout_.question, layout_.answer);
    return invalid_argument("has ", tabs == 0 ? "no tab" : absl::StrCat(tabs, " tabs"),
                            ": a line is ", first, "<TAB>", second,
                            line.starts_with('{') || line.starts_with('[')
                                ? "; a file of JSON lines has a name that ends in .jsonl"
                                : "");
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
    return invalid_argument("has ", fields->size(), fields->size() == 1 ? " field" : " fields",
                            ", but the header has ", columns_);
  }
  Record record{.question = (*fields)[question_column_]};
  if (answer_column_) record.answer = (*fields)[*answer_column_];
  return record;
}

absl::StatusOr<Record> RecordReader::parse_json(std::string_view line) const {
  nlohmann::json object;
  JsonReader reader(object);
  if (!nlohmann::json::sax_parse(line, &reader)) {
    return invalid_argument("is not JSON: ", reader.mistake);
  }
  if (!object.is_object()) return invalid_argument("is JSON, but not an object");
  const auto count = [&](const std::string& key) {
    return std::ranges::count(reader.keys, nfc(key), nfc);
  };
  const auto text = [&](const std::string& key) -> absl::StatusOr<std::string> {
    if (count(key) == 0) {
      return invalid_argument("has no key \"", key, "\"; its keys are ", quoted(reader.keys),
                              other_keys(reader.keys));
    }
    if (count(key) > 1) return invalid_argument("has the key \"", key, "\" twice");
    const auto& value = object[*std::ranges::find(reader.keys, nfc(key), nfc)];
    if (value.is_number_integer()) return value.dump();
    if (value.is_string()) return value.get<std::string>();
    return invalid_argument("\"", key, "\" is neither a string nor an integer");
  };
  ASSIGN_OR_RETURN(std::string question, text(layout_.question));
  Record record{.question = std::move(question)};
  if (!layout_.answer_needed && count(layout_.answer) == 0) return record;
  ASSIGN_OR_RETURN(record.answer, text(layout_.answer));
  return record;
}

absl::Status RecordReader::check(const Record& record) const {
  if (is_blank(record.question)) return invalid_argument("the ", layout_.question, " is empty");
  if (record.answer && is_blank(*record.answer)) {
    return invalid_argument("the ", layout_.answer, " is empty");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Record>> read_records(const std::string& path,
                                                 const RecordLayout& layout,
                                                 FileMistakes& mistakes) {
  ASSIGN_OR_RETURN(const std::string text, read_regular_file(path));
  size_t place = 0;
  const auto next_line = [&]() -> std::optional<std::string> {
    if (place >= text.size()) return std::nullopt;
    const size_t end = std::min(text.find('\n', place), text.size());
    std::string line = text.substr(place, end - place);
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
      mistakes.add(path, reader.line(), record->status().message());
    }
  }
  if (is_empty) return invalid_argument(path, ": has no example");
  return records;
}

}  // namespace qkv
