#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace qkv {

// A folder that lasts as long as the object; in memory, where there is such a place, what is
// flushed to the disk takes no time.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(bool in_memory = false) {
    const std::filesystem::path memory = "/dev/shm";
    const bool is_there = in_memory && ::access(memory.c_str(), W_OK) == 0;
    const auto folder = is_there ? memory : std::filesystem::temp_directory_path();
    std::string pattern = (folder / "qkv-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "cannot make " << pattern;
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  // Truncating a file that is there would make ext4 flush it to the disk, which takes its time.
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  std::ofstream(path, std::ios::binary) << bytes;
}

inline size_t files_in(const std::string& folder) {
  std::filesystem::directory_iterator begin(folder), end;
  return static_cast<size_t>(std::distance(begin, end));
}

}  // namespace qkv
