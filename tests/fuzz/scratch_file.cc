#include "tests/fuzz/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "framework/io/files.h"
#include "tests/fuzz/properties.h"

namespace qkv {

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
