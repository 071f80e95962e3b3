// Files as other programs make them: encodings, line ends, separators, names.

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"
#include "tests/data/images/image_files.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

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

std::string wide(const std::string& ascii, size_t bytes, bool big_endian, const std::string& mark) {
  std::string text = mark;
  for (const char c : ascii) {
    std::string unit(bytes, '\0');
    unit[big_endian ? bytes - 1 : 0] = c;
    text += unit;
  }
  return text;
}

const std::string kLines = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\nsix 6\nseven 7\neight 8\n";

TEST_F(ForeignFilesTest, AnEncodingOfTwoOrFourBytesIsNamed) {
  using namespace std::string_literals;
  const std::string pairs = "question\tanswer\n" + kLines;
  const std::pair<std::string, std::string> files[] = {
      {wide(pairs, 2, false, "\xFF\xFE"), "UTF-16"},
      {wide(pairs, 2, true, "\xFE\xFF"), "UTF-16"},
      {wide(pairs, 4, false, "\xFF\xFE\0\0"s), "UTF-32"},
      {wide(pairs, 4, true, "\0\0\xFE\xFF"s), "UTF-32"},
      {wide(pairs, 2, false, ""), "UTF-16LE"},
      {wide(pairs, 2, true, ""), "UTF-16BE"},
      {"a\0b\0\x2D\x4E\x2D\x4E"s, "UTF-16LE"},  // half of it Chinese
      {"\0a\0b\x4E\x2D\x4E\x2D"s, "UTF-16BE"},
      {wide(pairs, 4, false, ""), "UTF-32LE"},
      {wide(pairs, 4, true, ""), "UTF-32BE"}};
  for (const auto& [bytes, encoding] : files) {
    write_bytes(folder_ / "f.tsv", bytes);
    write_bytes(folder_ / "f.csv", bytes);
    write_bytes(folder_ / "f.jsonl", bytes);
    for (const auto& [task, path] : {std::pair("text", "f.tsv"),
                                     {"lines", "f.tsv"},
                                     {"pairs", "f.tsv"},
                                     {"pairs", "f.csv"},
                                     {"pairs", "f.jsonl"},
                                     {"classes", "f.csv"}}) {
      const std::string errors = unfolded(refusal(data(task, path)));
      EXPECT_THAT(errors,
                  HasSubstr(absl::StrCat("is ", encoding, ", not UTF-8; convert it with iconv -f ",
                                         encoding, " -t UTF-8 FILE > NEW")))
          << task << " " << path;
      EXPECT_THAT(errors, Not(HasSubstr("latin1")));
    }
  }
}

TEST_F(ForeignFilesTest, ALineEndsInEachOfThreeWays) {
  const std::string tabs = absl::StrReplaceAll(kLines, {{" ", "\t"}});
  const std::string csv = "question,answer\n" + absl::StrReplaceAll(kLines, {{" ", ","}});
  for (const auto& [task, name, text] : {std::tuple("lines", "f.txt", kLines),
                                         {"text", "f.txt", kLines},
                                         {"pairs", "f.tsv", tabs},
                                         {"pairs", "f.csv", csv}}) {
    write_bytes(folder_ / name, text);
    const ProcessResult usual = data(task, name);
    expect_success(usual);
    for (const char* end : {"\r", "\r\n"}) {
      write_bytes(folder_ / name, absl::StrReplaceAll(text, {{"\n", end}}));
      const ProcessResult other = data(task, name);
      expect_success(other);
      EXPECT_EQ(other.output, usual.output) << task << " " << name;
    }
  }
}

TEST_F(ForeignFilesTest, NoErrorQuotesWithoutABound) {
  std::string header, keys;
  for (int i = 0; i < 3000; ++i) {
    absl::StrAppend(&header, "column-", i, ",");
    absl::StrAppend(&keys, keys.empty() ? "{" : ",", "\"key-", i, "\": 1");
  }
  write_bytes(folder_ / "f.csv", header + "last\n");
  write_bytes(folder_ / "f.jsonl", keys + "}\n");
  write_bytes(folder_ / "long.csv", std::string(100000, 'x') + ",y\n");
  for (int i = 0; i < 200; ++i) {
    fs::create_directories(folder_ / absl::StrCat("all/class-", i));
    for (const int j : {1, 2}) add_image(absl::StrCat("all/class-", i, "/", j, ".png"), i + j);
  }
  add_image("other/none/1.png", 3);
  for (const ProcessResult& result :
       {data("pairs", "f.csv"), data("pairs", "f.jsonl"), data("pairs", "long.csv"),
        data("image_folder", "all", {"data.validation_path=other"})}) {
    EXPECT_LT(refusal(result).size(), 4000u);
  }
  EXPECT_THAT(unfolded(refusal(data("image_folder", "all", {"data.validation_path=other"}))),
              HasSubstr("class-115 and 180 more"));
}

// Sets of examples as people have them: how they are shared out, and folders of photos.

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
