#pragma once

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"
#include "tests/data/images/image_bytes.h"

namespace qkv {

// Files as other programs make them, and what `qkv data` says of them.
class ForeignFilesTest : public CommandLineFixture {
 protected:
  ProcessResult data(const std::string& task, const std::string& path,
                     const std::vector<std::string>& more = {}) {
    write_bytes(folder_ / "c.toml", absl::StrCat("[data]\ntask = \"", task, "\"\n"));
    std::vector<std::string> command = {"data", "c.toml", "--set", "data.path=" + path};
    if (task == "text") command.insert(command.end(), {"--set", "data.length=4"});
    if (task == "classes" || task == "image_folder") {
      command.insert(command.end(), {"--set", "model.kind=classifier"});
    }
    if (task == "image_folder") {
      command.insert(command.end(), {"--set", "data.image_size=4", "--set", "model.patch_size=2"});
    }
    for (const std::string& setting : more) command.insert(command.end(), {"--set", setting});
    return qkv(command);
  }
  std::string refusal(const ProcessResult& result) {
    EXPECT_EQ(result.exit_status, 2) << result.output;
    return result.errors;
  }
  void add_image(const std::string& path, int shade) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / path).parent_path());
    write_bytes(folder_ / path, png_bytes(std::string(27, static_cast<char>(shade)), 3, 3));
  }
};

}  // namespace qkv
