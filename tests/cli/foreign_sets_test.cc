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
using testing::Not;

using ForeignSetsTest = ForeignFilesTest;

TEST_F(ForeignSetsTest, NamesOfOneLookAreOneClass) {
  const std::string composed = "caf\xC3\xA9", decomposed = "cafe\xCC\x81";
  std::string csv = "text,class\n";
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&csv, "text ", i, ",",
                    i % 3 == 0   ? composed
                    : i % 3 == 1 ? decomposed
                                 : "tea",
                    "\n");
  }
  write_bytes(folder_ / "f.csv", csv);
  const ProcessResult two = data("classes", "f.csv");
  EXPECT_EQ(two.exit_status, 0) << two.errors;
  EXPECT_THAT(two.output, HasSubstr("classes      2: " + composed + ", tea\n"));
  EXPECT_THAT(unfolded(two.errors), HasSubstr("read as NFC: " + composed));

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

TEST_F(ForeignSetsTest, AClassThatValidationDoesNotAskForIsTold) {
  std::string csv = "text,class\n";
  for (int i = 0; i < 60; ++i)
    absl::StrAppend(&csv, "text ", i, ",", i < 3 ? "rare" : "usual", "\n");
  write_bytes(folder_ / "f.csv", csv);
  write_bytes(folder_ / "held.csv", "text,class\nx,usual\n");
  const std::string note = "no validation example has the class rare";
  EXPECT_THAT(unfolded(data("classes", "f.csv", {"data.validation_path=held.csv"}).errors),
              HasSubstr(note));
  const std::vector<std::string> settings = {
      "--set", "data.path=f.csv",       "--set", "data.validation_path=held.csv",
      "--set", "model.kind=classifier", "--set", "model.d_model=8",
      "--set", "model.d_ff=8",          "--set", "model.num_heads=1",
      "--set", "model.num_layers=1",    "--set", "train.steps=2"};
  for (const char* verb : {"train", "doctor"}) {
    if (!has_verb(verb)) continue;
    std::vector<std::string> command = {verb, "c.toml"};
    command.insert(command.end(), settings.begin(), settings.end());
    const ProcessResult result = qkv(command);
    EXPECT_THAT(unfolded(result.output + result.errors), HasSubstr(note)) << verb;
  }
}

TEST_F(ForeignSetsTest, SmallSetsAreSharedOutToTheNumberClassByClass) {
  for (int i = 0; i < 120; ++i) add_image(absl::StrCat("all/", i % 4, "/", i, ".png"), i);
  EXPECT_THAT(data("image_folder", "all").output,
              HasSubstr("training     108 examples\nvalidation   12 examples"));
  std::string csv = "text,class\n", lines;
  for (int i = 0; i < 120; ++i) absl::StrAppend(&csv, "text ", i, ",", i % 8, "\n");
  for (int i = 0; i < 120; ++i) absl::StrAppend(&lines, "line ", i, "\n");
  write_bytes(folder_ / "f.csv", csv);
  write_bytes(folder_ / "f.txt", lines);
  for (const auto& [task, path] : {std::pair("classes", "f.csv"), {"lines", "f.txt"}}) {
    const ProcessResult result = data(task, path);
    expect_success(result);  // no class is without
    EXPECT_THAT(result.output, HasSubstr("training     108 examples\nvalidation   12 examples"))
        << task;
  }
  write_bytes(folder_ / "f.txt", "a\nb\nc\n");
  EXPECT_THAT(data("lines", "f.txt").output,
              HasSubstr("training     2 examples\nvalidation   1 example\n"));
}

TEST_F(ForeignSetsTest, AShareOfThePathIsTakenAlsoBesideAValidationPath) {
  std::string lines, pairs, csv = "text,class\n";
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&lines, "line ", i, "\n");
    absl::StrAppend(&pairs, "q", i, "\ta\n");
    absl::StrAppend(&csv, "text ", i, ",", i % 2, "\n");
    add_image(absl::StrCat("all/", i % 2, "/", i, ".png"), i);
  }
  write_bytes(folder_ / "f.txt", lines);
  write_bytes(folder_ / "f.tsv", pairs);
  write_bytes(folder_ / "f.csv", csv);
  write_bytes(folder_ / "held.txt", "line 200 line 200\n");
  write_bytes(folder_ / "held.tsv", "q200\ta\n");
  write_bytes(folder_ / "held.csv", "text,class\nlonger text,1\nlonger text too,0\n");
  add_image("held/0/1.png", 250);
  add_image("held/1/1.png", 251);
  for (const auto& [task, path, held] : {std::tuple("lines", "f.txt", "held.txt"),
                                         {"pairs", "f.tsv", "held.tsv"},
                                         {"classes", "f.csv", "held.csv"},
                                         {"image_folder", "all", "held"}}) {
    const std::string other = absl::StrCat("data.validation_path=", held);
    EXPECT_THAT(data(task, path, {other}).output, HasSubstr("training     200 examples")) << task;
    for (const auto& [fraction, examples] : {std::pair("0.5", "100"), {"0.1", "20"}}) {
      EXPECT_THAT(data(task, path, {other, absl::StrCat("data.train_fraction=", fraction)}).output,
                  HasSubstr(absl::StrCat("training     ", examples, " examples")))
          << task;
    }
  }
  const std::string said = refusal(data("lines", "f.txt", {"data.train_fraction=1"}));
  EXPECT_THAT(said, HasSubstr("\"data.train_fraction\" must be 0.001 … 0.999, not 1"));
  // Of a text the first characters: its words come from them alone.
  write_bytes(folder_ / "t.txt", "aa aa aa aa aa bb bb bb bb bb ");
  const auto words = [&](const std::string& fraction) {
    return data("text", "t.txt",
                {"data.tokens=words", "data.validation_path=held.txt", "data.length=1",
                 "data.train_fraction=" + fraction})
        .output;
  };
  EXPECT_THAT(words("1"), HasSubstr("\" bb\""));
  EXPECT_THAT(words("0.5"), Not(HasSubstr("\" bb\"")));
  EXPECT_THAT(words("0.5"), HasSubstr("\" aa\""));
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
