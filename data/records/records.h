#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/file.h"
#include "framework/core/status.h"

namespace qkv {

// The next line of a file without its end, or none.
using NextLine = std::function<std::optional<std::string>()>;

// The fields of the CSV record (RFC 4180) that begins with `line`; where a quoted field holds line
// ends, its other lines come from `next`. An error says what is wrong: "a quote stands in …".
// (Debian's libcsv, 3.0.3 of 2013, takes broken quotes or says only that there are some; the code
// around it to name a line would be as long as this.)
absl::StatusOr<std::vector<std::string>> parse_csv_record(std::string line, const NextLine& next);

// An example in a file of the user's: a question and its answer, or a text and its class.
struct Record {
  std::string question;
  std::optional<std::string> answer = {};  // may be missing only where it need not be there
  int64_t line = 0;                        // where it begins
};

// How files have them. The name of a file says which format it has: .csv is CSV with a header,
// .jsonl and .ndjson are JSON lines, in small or large letters; all others have a tab between two
// columns.
struct RecordLayout {
  std::string question, answer;  // in headers and objects: "question", "answer"
  bool answer_first = false;     // in a file with tabs
  bool answer_needed = true;     // else a line with no tab is a question
  bool answer_is_class = false;
};

// Reads records one after the other, as their lines come.
class RecordReader {
 public:
  RecordReader(std::string_view path, RecordLayout layout, NextLine next);

  // The next record, or what is wrong with it; none at the end. After a wrong header, and in a file
  // that is not text, none.
  std::optional<absl::StatusOr<Record>> next();

  int64_t line() const { return begin_; }  // where the last record begins

  enum class Format { kTabs, kCsv, kJsonLines };

 private:
  absl::Status end_with(const std::string& what);
  std::optional<std::string> next_line();
  absl::Status read_header();
  absl::StatusOr<Record> parse(std::string line);
  absl::StatusOr<Record> parse_tabs(std::string_view line) const;
  absl::StatusOr<Record> parse_csv(std::string line);
  absl::StatusOr<Record> parse_json(std::string_view line) const;
  std::string other_keys(const std::vector<std::string>& names) const;
  absl::Status check(const Record& record) const;

  Format format_;
  RecordLayout layout_;
  NextLine next_;
  int64_t begin_ = 0, line_ = 0;
  std::string rest_;      // of a line of the file that "\r" ends some of
  std::string not_utf8_;  // what is wrong with a line of the record
  bool has_header_ = false;
  size_t columns_ = 0, question_column_ = 0;
  std::optional<size_t> answer_column_;
};

// All records of a file; adds the mistakes in others. An error where the file cannot be read, or is
// empty.
absl::StatusOr<std::vector<Record>> read_records(const std::string& path,
                                                 const RecordLayout& layout,
                                                 FileMistakes& mistakes);

}  // namespace qkv
