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

TEST(IdxTest, WhatAGzipBombHoldsIsNotUnpackedBeyondWhatItsHeaderSays) {
  std::string bomb = gzipped(idx_bytes({1, 2, 2}, std::string(1 << 20, 'a')));
  const std::string more = gzipped(std::string(1 << 24, 'a'));
  for (int i = 0; i < 1000; ++i) bomb += more;  // 16 GB in 16 MB
  EXPECT_EQ(error_of(bomb), "is too long: its header says 1 x 2 x 2 bytes, but more follow it");
}

}  // namespace
}  // namespace qkv
