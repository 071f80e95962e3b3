#include "data/csv.h"

#include "absl/strings/str_cat.h"

namespace qkv {

absl::StatusOr<std::vector<std::string>> parse_csv_record(std::string line, const NextLine& next) {
  std::vector<std::string> fields;
  const auto wrong = [&fields](const char* what) {
    return absl::InvalidArgumentError(absl::StrCat(what, " field ", fields.size() + 1));
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

}  // namespace qkv
