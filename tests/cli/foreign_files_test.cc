// Files as other programs make them: encodings, line ends, separators, names.

#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/cli/foreign_files_fixture.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

TEST_F(ForeignFilesTest, AnImageIsNoText) {
  write_bytes(folder_ / "photo.jpg", std::string("\xFF\xD8\xFF\xE0\0\x10JFIF\0\1\1\n", 14) + "\n");
  for (const char* task : {"lines", "text", "pairs"}) {
    EXPECT_THAT(unfolded(refusal(data(task, "photo.jpg"))),
                HasSubstr("is a JPEG image, not a text in UTF-8"));
  }
  write_bytes(folder_ / "old.txt", "caf\xE9\nth\xE9\nlait\npain\n");
  EXPECT_THAT(refusal(data("lines", "old.txt")), HasSubstr("iconv -f latin1 -t utf-8"));
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

TEST_F(ForeignFilesTest, BytesAreAllKept) {
  write_bytes(folder_ / "f.txt",
              "\xEF\xBB\xBF"
              "a\r\nb\rc\r\nd\re\n");
  const ProcessResult result =
      data("text", "f.txt", {"data.tokens=bytes", "data.train_fraction=0.5"});
  expect_success(result);
  EXPECT_THAT(result.output, HasSubstr("c\\x0D\\nd\\x0D"));
  expect_success(data("text", "f.txt", {"data.train_fraction=0.5"}));
}

TEST_F(ForeignFilesTest, WhatIsWrongWithJsonIsSaidInTheParsersWords) {
  const std::pair<std::string, std::string> lines[] = {
      {R"({"question": "\ud800", "answer": "a"})",
       "is not JSON: at line 1, column 21: invalid string: surrogate"},
      {R"({"question": "a", "answer": "b",})", "is not JSON: at line 1, column 33: unexpected '}'"},
      {R"({"question": "a", "answer": NaN})", "is not JSON: at line 1, column 29: invalid literal"},
      {R"(["a", "b"])", "is JSON, but not an object"},
      {R"({"question": "a", "answer": 1.5})", "\"answer\" is neither a string nor an integer"}};
  for (const auto& [line, what] : lines) {
    write_bytes(folder_ / "f.jsonl", line + "\n");
    EXPECT_THAT(refusal(data("pairs", "f.jsonl")), StartsWith("error: f.jsonl:1: " + what)) << line;
  }
  write_bytes(folder_ / "t.json", "{\"model\": {\"type\": \"BPE\",}}");
  EXPECT_THAT(
      unfolded(refusal(data("text", "c.toml", {"data.tokens=tokenizer", "data.tokenizer=t.json"}))),
      HasSubstr("t.json: tokenizer: is not JSON: at line 1, column 26: unexpected '}'"));
}

TEST_F(ForeignFilesTest, AnIntegerOfAnySizeIsItsDigits) {
  std::string lines;
  for (int i = 0; i < 9; ++i) {
    absl::StrAppend(&lines, "{\"question\": -12345678901234567890", i,
                    ", \"answer\": 121932631124783113857576}\n");
  }
  write_bytes(folder_ / "f.jsonl", lines);
  const ProcessResult result = data("pairs", "f.jsonl");
  expect_success(result);
  EXPECT_THAT(result.output, HasSubstr("-12345678901234567890"));
  EXPECT_THAT(result.output, HasSubstr("121932631124783113857576"));
}

TEST_F(ForeignFilesTest, ASeparatorAndAColumnOfAnotherNameAreTold) {
  write_bytes(folder_ / "f.csv", "question;answer\na;b\n");
  EXPECT_THAT(unfolded(refusal(data("pairs", "f.csv"))),
              HasSubstr("a comma separates columns, not \";\": save the file with commas"));
  write_bytes(folder_ / "f.csv", "text,label\na,b\n");
  EXPECT_THAT(unfolded(refusal(data("classes", "f.csv"))),
              HasSubstr("--set data.answer_key=label"));
  write_bytes(folder_ / "f.jsonl", "{\"text\": \"a\", \"label\": \"b\"}\n");
  EXPECT_THAT(unfolded(refusal(data("classes", "f.jsonl"))),
              HasSubstr("--set data.answer_key=label"));
}

TEST_F(ForeignFilesTest, NoErrorQuotesWithoutABound) {
  std::string header, keys, classes = "text,class\n";
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

TEST_F(ForeignFilesTest, ATokenizerWithoutALineEndIsRefusedForLines) {
  write_bytes(folder_ / "f.txt", "ab\nba\naa\nbb\n");
  write_bytes(folder_ / "t.json",
              R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[\\s\\S]"},)"
              R"("behavior": "Isolated", "invert": false}, "decoder": {"type": "Fuse"},)"
              R"("model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"}})");
  EXPECT_THAT(
      unfolded(refusal(data("lines", "f.txt", {"data.tokens=tokenizer", "data.tokenizer=t.json"}))),
      HasSubstr("t.json: has no token for the end of a line"));
}

TEST_F(ForeignFilesTest, AConfigThatIsNoneIsToldSo) {
  write_bytes(folder_ / "qr.csv", "question,answer\na,b\n");
  write_bytes(folder_ / "large.csv", std::string(70000, 'a') + "\n");
  for (const char* file : {"qr.csv", "large.csv"}) {
    EXPECT_THAT(unfolded(refusal(qkv({"train", file}))),
                AllOf(StartsWith(absl::StrCat("error: ", file, ": is not a config: it ")),
                      HasSubstr("a config is a short TOML file, which names data with data.path")));
  }
  write_bytes(folder_ / "c.toml", "[data]\npath = \"qr.csv\"\n");
  const std::string errors = unfolded(refusal(qkv({"train", "c.toml"})));
  EXPECT_THAT(errors, HasSubstr("set \"data.task\" to one of these"));
  EXPECT_THAT(errors, Not(HasSubstr("reverse")));
}

TEST_F(ForeignFilesTest, AResumeWithOtherDataNamesThem) {
  std::string pairs, others;
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&pairs, "q", i, "\ta", i, "\n");
    absl::StrAppend(&others, "x", i, "\ty", i, "\n");
  }
  write_bytes(folder_ / "qr.tsv", pairs);
  write_bytes(folder_ / "qr2.tsv", others);
  write_bytes(folder_ / "p.toml",
              absl::StrReplaceAll("name = \"p\"\n" + kTinyRun + "steps = 2\n",
                                  {{"task = \"reverse\"\nalphabet = 4\nlength = 3\n",
                                    "task = \"pairs\"\npath = \"qr.tsv\"\n"}}));
  expect_success(qkv({"train", "p.toml"}));
  const std::string errors = unfolded(refusal(qkv(
      {"train", "p.toml", "--resume", "--set", "train.steps=4", "--set", "data.path=qr2.tsv"})));
  EXPECT_THAT(errors,
              StartsWith("error: data.path is qr2.tsv, whose content is not that of qr.tsv"));
}

}  // namespace
}  // namespace qkv
