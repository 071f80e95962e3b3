// Files in MNIST's format, and whatever else may be given for one.

#include "data/images/idx.h"

#include <gtest/gtest.h>

#include "tests/data/images/idx_bytes.h"

namespace qkv {
namespace {

std::string error_of(const std::string& file, size_t dimensions = 3) {
  const auto parsed = parse_idx(file, dimensions);
  return parsed.ok() ? "no error" : std::string(parsed.status().message());
}

TEST(IdxTest, HasTheSizesAndTheNumbersOfTheFile) {
  const auto images = parse_idx(idx_bytes({2, 1, 3}, "abcdef"), 3);
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ(images->sizes, (std::vector<int64_t>{2, 1, 3}));
  EXPECT_EQ(images->bytes, "abcdef");
  const auto labels = parse_idx(idx_bytes({300}, std::string(300, '\x07')), 1);
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_EQ(labels->sizes, (std::vector<int64_t>{300}));
  EXPECT_EQ(labels->bytes, std::string(300, '\x07'));
}

TEST(IdxTest, AFileMayBeGzippedInOnePartOrSeveral) {
  std::string numbers;
  for (int64_t i = 0; i < 100000; ++i) numbers += static_cast<char>(i * i >> 3);
  const std::string file = idx_bytes({100, 25, 40}, numbers);
  for (const std::string& packed :
       {gzipped(file), gzipped(file.substr(0, 10)) + gzipped(file.substr(10))}) {
    const auto images = parse_idx(packed, 3);
    ASSERT_TRUE(images.ok()) << images.status();
    EXPECT_EQ(images->sizes, (std::vector<int64_t>{100, 25, 40}));
    EXPECT_EQ(images->bytes, numbers);
  }
}

TEST(IdxTest, AFileOfAnotherFormatIsAnErrorWithItsFirstBytes) {
  EXPECT_EQ(error_of(""), "is empty");
  EXPECT_EQ(error_of("\x89PNG\r\n"),
            "is not an IDX file (the format of MNIST): it begins with 89 50 4E 47");
  EXPECT_EQ(error_of(std::string(1, '\0')),
            "is not an IDX file (the format of MNIST): it begins with 00");
  EXPECT_EQ(error_of(gzipped("text")),
            "is not an IDX file (the format of MNIST): it begins with 74 65 78 74");
}

TEST(IdxTest, NumbersOfAnotherTypeAreAnErrorThatNamesIt) {
  EXPECT_EQ(error_of(idx_bytes({1, 1, 1}, "abcd", 0x0D)),
            "its numbers have type 0x0D, floating-point numbers of 32 bits; images and labels "
            "are unsigned bytes, type 0x08");
  EXPECT_EQ(error_of(idx_bytes({1}, "abcd", 0x0C), 1),
            "its numbers have type 0x0C, integers of 32 bits; images and labels are unsigned "
            "bytes, type 0x08");
  EXPECT_EQ(error_of(idx_bytes({1}, "a", 0x77), 1),
            "its numbers have type 0x77, which IDX does not define; images and labels are unsigned "
            "bytes, type 0x08");
}

TEST(IdxTest, LabelsAreNoImagesAndImagesNoLabels) {
  EXPECT_EQ(error_of(idx_bytes({2}, "ab")),
            "its numbers have 1 dimensions; images have 3: number, height and width");
  EXPECT_EQ(error_of(idx_bytes({2, 1, 1}, "ab"), 1),
            "its numbers have 3 dimensions; labels have 1: their number");
}

TEST(IdxTest, AFileThatIsCutOffAnywhereIsAnError) {
  const std::string file = idx_bytes({2, 2, 2}, "abcdefgh");
  for (size_t size = 4; size < 16; ++size) {
    EXPECT_EQ(error_of(file.substr(0, size)), "is truncated: it ends within the header") << size;
  }
  EXPECT_EQ(error_of(file.substr(0, 16)),
            "is truncated: its header says 2 x 2 x 2 bytes, but 0 follow it");
  EXPECT_EQ(error_of(file.substr(0, 23)),
            "is truncated: its header says 2 x 2 x 2 bytes, but 7 follow it");
  EXPECT_EQ(error_of(gzipped(file.substr(0, 23))),
            "is truncated: its header says 2 x 2 x 2 bytes, but 7 follow it");
  const std::string packed = gzipped(file);
  for (size_t size = 2; size < packed.size(); ++size) {
    EXPECT_EQ(error_of(packed.substr(0, size)), "its gzip data end before they are complete")
        << size;
  }
}

TEST(IdxTest, AFileWithMoreThanItsHeaderSaysIsAnError) {
  const std::string file = idx_bytes({1, 2, 2}, "abcde");
  const std::string message = "is too long: its header says 1 x 2 x 2 bytes, but more follow it";
  EXPECT_EQ(error_of(file), message);
  EXPECT_EQ(error_of(gzipped(file)), message);
}

TEST(IdxTest, WhatAGzipBombHoldsIsNotUnpackedBeyondWhatItsHeaderSays) {
  std::string bomb = gzipped(idx_bytes({1, 2, 2}, std::string(1 << 20, 'a')));
  const std::string more = gzipped(std::string(1 << 24, 'a'));
  for (int i = 0; i < 1000; ++i) bomb += more;  // 16 GB in 16 MB
  EXPECT_EQ(error_of(bomb), "is too long: its header says 1 x 2 x 2 bytes, but more follow it");
}

TEST(IdxTest, SizesThatOverflowOrFillTheMemoryAreAnError) {
  EXPECT_EQ(error_of(idx_bytes({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "a")),
            "is too large: its header says 4294967295 x 4294967295 x 4294967295 bytes, but at most "
            "1073741824 are read");
  EXPECT_EQ(error_of(idx_bytes({1 << 15, 1 << 15, 2}, "a")),
            "is too large: its header says 32768 x 32768 x 2 bytes, but at most 1073741824 are "
            "read");
  EXPECT_EQ(error_of(idx_bytes({1 << 15, 1 << 15, 1}, "a")),
            "is truncated: its header says 32768 x 32768 x 1 bytes, but 1 follow it");
}

TEST(IdxTest, AFileOfNothingIsAnError) {
  EXPECT_EQ(error_of(idx_bytes({0, 28, 28}, "")), "has no elements: its header says 0 x 28 x 28");
  EXPECT_EQ(error_of(idx_bytes({5, 0xFFFFFFFF, 0}, "")),
            "has no elements: its header says 5 x 4294967295 x 0");
}

TEST(IdxTest, DamagedGzipDataAreAnError) {
  std::string packed = gzipped(idx_bytes({1, 2, 2}, "abcd"));
  std::string checksum = packed;
  checksum[checksum.size() - 5] ^= 1;
  EXPECT_EQ(error_of(checksum), "its gzip data are damaged: incorrect data check");
  EXPECT_EQ(error_of(packed + "x"), "its gzip data end before they are complete");
  EXPECT_EQ(error_of(packed + "xyz"), "its gzip data are damaged: incorrect header check");
}

TEST(IdxTest, AnErrorOfAFileBeginsWithItsPath) {
  EXPECT_EQ(read_idx("/there/is/none", 3).status().message(),
            "cannot read /there/is/none: No such file or directory");
  EXPECT_EQ(read_idx("/proc/self/cmdline", 3).status().message().substr(0, 20),
            "/proc/self/cmdline: ");
}

}  // namespace
}  // namespace qkv
