#pragma once

#include <string>
#include <string_view>

namespace qkv {

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
