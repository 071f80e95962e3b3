#include "tests/fuzz/properties.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "data/show_data.h"
#include "framework/core/text/utf8.h"
#include "framework/io/files.h"

namespace qkv {

void require(bool holds, std::string_view promise, std::string_view found) {
  if (!holds) throw std::logic_error(std::string(promise) + ": " + std::string(found));
}

bool is_one_printable_line(std::string_view line) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (!is_utf8(line) || std::ranges::any_of(line, is_control)) return false;
  for (size_t at = line.find('\xC2'); at != line.npos; at = line.find('\xC2', at + 1)) {
    if (static_cast<unsigned char>(line[at + 1]) < 0xA0) return false;  // U+0080 … U+009F
  }
  return true;
}

void require_good_message(const absl::Status& status, const std::vector<std::string>& starts) {
  for (const absl::string_view part : absl::StrSplit(status.message(), '\n')) {
    const std::string_view line(part.data(), part.size());
    require(!line.empty(), "a message says something");
    require(is_one_printable_line(line), "a message can be shown", line);
    require(starts.empty() || std::ranges::any_of(starts,
                                                  [line](const std::string& start) {
                                                    return line.starts_with(start) &&
                                                           line.size() > start.size();
                                                  }),
            "a line is a mistake with its place", line);
  }
}

void require_can_be_shown(const Dataset& dataset) {
  const std::string shown =
      absl::StrCat(describe_dataset(dataset), describe_examples(dataset, Split::kTraining, 2),
                   describe_examples(dataset, Split::kValidation, 2));
  for (const absl::string_view line : absl::StrSplit(shown, '\n')) {
    require(is_one_printable_line({line.data(), line.size()}), "an example is one line",
            std::string(line));
  }
}

ScratchFile::ScratchFile(const std::string& name) {
  const std::string memory = "/dev/shm";
  const std::string folder = ::access(memory.c_str(), W_OK) == 0
                                 ? memory
                                 : std::filesystem::temp_directory_path().string();
  path_ = absl::StrCat(folder, "/qkv-fuzz-", ::getpid(), "-", name);
}

ScratchFile::~ScratchFile() { ::unlink(path_.c_str()); }

void ScratchFile::write(std::string_view bytes) const {
  const FileDescriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  require(file.is_open() && ::write(file.get(), bytes.data(), bytes.size()) == std::ssize(bytes),
          "the scratch file can be written", path_);
}

}  // namespace qkv
