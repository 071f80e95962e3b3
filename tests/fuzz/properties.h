#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "data/dataset.h"
#include "framework/core/text/utf8.h"

namespace qkv {

// Throws std::logic_error with `promise` and what was found instead.
void require(bool holds, std::string_view promise, std::string_view found = "");

// Whether a terminal would take something in `line` for more than a character to show: a control
// character or a byte that is not UTF-8.
bool is_one_printable_line(std::string_view line);

// What every message to the user keeps: it is not empty, each of its lines can be shown, and where
// `starts` are given each begins with one of them.
void require_good_message(const absl::Status& status, const std::vector<std::string>& starts = {});

// What is shown of a data set and its examples.
void require_can_be_shown(const Dataset& dataset);

// A path in memory (/dev/shm) where there is one, for functions that read a file. Gone when the
// program ends.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }
  void write(std::string_view bytes) const;

 private:
  std::string path_;
};

}  // namespace qkv
