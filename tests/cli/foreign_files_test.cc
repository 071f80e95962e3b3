// Files as other programs make them: encodings, line ends, separators, names.

#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/cli/foreign_files_fixture.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

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

}  // namespace
}  // namespace qkv
