// Sets of examples as people have them: how they are shared out, and folders of photos.

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/cli/foreign_files_fixture.h"
#include "tests/data/images/raw_png.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

using ForeignSetsTest = ForeignFilesTest;

TEST_F(ForeignSetsTest, NamesOfOneLookAreOneClass) {
  const std::string composed = "caf\xC3\xA9", decomposed = "cafe\xCC\x81";
  for (int i = 0; i < 20; ++i) {
    add_image(absl::StrCat("all/", composed, "/", i, ".png"), i);
    add_image(absl::StrCat("all/tea/", i, ".png"), 100 + i);
    add_image(absl::StrCat("other/", decomposed, "/", i, ".png"), 50 + i);
  }
  add_image("other/tea/1.png", 200);
  const ProcessResult folders = data("image_folder", "all", {"data.validation_path=other"});
  EXPECT_EQ(folders.exit_status, 0) << folders.errors;
  EXPECT_THAT(unfolded(folders.errors), HasSubstr("read as NFC: other/" + decomposed));
  EXPECT_THAT(folders.output, HasSubstr("validation   21 examples"));
}

TEST_F(ForeignSetsTest, WhatIsNoImageIsLeftOutWithANote) {
  for (int i = 0; i < 40; ++i) add_image(absl::StrCat("all/", i % 2, "/", i, ".png"), i);
  write_bytes(folder_ / "all/0/Thumbs.db", "\xD0\xCF\x11\xE0");
  write_bytes(folder_ / "all/1/note.txt", "taken in May");
  write_bytes(folder_ / "all/LICENSE", "free");
  const ProcessResult result = data("image_folder", "all");
  EXPECT_EQ(result.exit_status, 0) << result.errors;
  EXPECT_THAT(
      unfolded(result.errors),
      HasSubstr("left out, as they are not images: all/LICENSE, all/0/Thumbs.db, all/1/note.txt"));
  expect_success(qkv({"train", "c.toml", "--out", "run", "--set", "data.path=all", "--set",
                      "data.image_size=4", "--set", "model.patch_size=2", "--set",
                      "model.kind=classifier", "--set", "train.steps=2"}));
  NEEDS_VERBS("predict");
  const ProcessResult answers = qkv({"predict", "run", "all"});
  EXPECT_EQ(answers.exit_status, 0) << answers.errors;
  EXPECT_EQ(std::ranges::count(answers.output, '\n'), 40);
  // Folders that lead to each other are looked into once.
  fs::create_directory_symlink("..", folder_ / "all/0/up");
  fs::create_directory_symlink("../1", folder_ / "all/0/other");
  fs::create_directory_symlink("../0", folder_ / "all/1/other");
  const ProcessResult linked = qkv({"predict", "run", "all"});
  EXPECT_EQ(linked.exit_status, 0) << linked.errors;
  EXPECT_EQ(std::ranges::count(linked.output, '\n'), 40);
  write_bytes(folder_ / "all/0/new.webp", std::string("RIFF\x24\0\0\0WEBPVP8 ", 16));
  write_bytes(folder_ / "all/0/new.heic", std::string("\0\0\0\x18"
                                                      "ftypheic",
                                                      12));
  fs::remove(folder_ / "all/0/up");
  fs::remove(folder_ / "all/0/other");
  fs::remove(folder_ / "all/1/other");
  const std::string errors = unfolded(refusal(data("image_folder", "all")));
  EXPECT_THAT(errors, HasSubstr("is a WebP image; images are PNG or JPEG files"));
  EXPECT_THAT(errors, HasSubstr("convert FILE FILE.png"));
  EXPECT_THAT(errors, HasSubstr("all/0/new.heic: is a HEIC"));
}

TEST_F(ForeignSetsTest, AStopIsHeardWhileALargeImageIsDecoded) {
  constexpr uint32_t kWidth = 4096, kHeight = 8190;
  const std::string rows((1 + kWidth) * kHeight, '\0');  // grey, no filter
  write_bytes(folder_ / "large.png", raw_png(kWidth, kHeight, 8, 0, rows));
  for (int i = 0; i < 400; ++i) {  // far more than are read before the first word of progress
    const fs::path path = folder_ / absl::StrCat("all/", i % 2, "/", i, ".png");
    fs::create_directories(path.parent_path());
    fs::create_hard_link(folder_ / "large.png", path);
  }
  write_bytes(folder_ / "c.toml",
              "[data]\ntask = \"image_folder\"\npath = \"all\"\n[model]\nkind = \"classifier\"\n");
  ProcessOptions options;
  options.folder = folder_.path();
  options.on_output = [](pid_t program, const std::string& output) {
    if (output.find("reading the images") == std::string::npos) return false;
    ::kill(program, SIGINT);
    return true;
  };
  const ProcessResult result =
      run_process({"/bin/sh", "-c", "exec " QKV_BINARY " train c.toml 2>&1"}, options);
  EXPECT_THAT(result.output,
              HasSubstr("the reading of the images was stopped; nothing was written"));
}

}  // namespace
}  // namespace qkv
