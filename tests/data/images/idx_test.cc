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

TEST(IdxTest, WhatAGzipBombHoldsIsNotUnpackedBeyondWhatItsHeaderSays) {
  std::string bomb = gzipped(idx_bytes({1, 2, 2}, std::string(1 << 20, 'a')));
  const std::string more = gzipped(std::string(1 << 24, 'a'));
  for (int i = 0; i < 1000; ++i) bomb += more;  // 16 GB in 16 MB
  EXPECT_EQ(error_of(bomb), "is too long: its header says 1 x 2 x 2 bytes, but more follow it");
}

}  // namespace
}  // namespace qkv
