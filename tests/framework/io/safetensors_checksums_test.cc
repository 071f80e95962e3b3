#include "framework/io/safetensors_checksums.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

TensorFile small_file() {
  return {{{"step", "100"}, {"strange \"text\"\n", "\x1f"}},
          {{"b", Array::of(Shape{1, 2}, DType::f32, std::vector<double>{1.5, -2})},
           {"m", Array::of(Shape{3}, DType::boolean, std::vector<double>{1, 0, 1})},
           {"none", Array(Shape{0, 4}, DType::f32)},
           {"c", Array::of(Shape{2}, DType::f32, std::vector<double>{0, 3})}}};
}

bool are_same(const TensorFile& a, const TensorFile& b) {
  if (a.metadata != b.metadata || a.tensors.size() != b.tensors.size()) return false;
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    const Array &x = a.tensors[i].array, &y = b.tensors[i].array;
    if (a.tensors[i].name != b.tensors[i].name || x.describe() != y.describe() ||
        std::memcmp(x.raw(), y.raw(), x.bytes()) != 0) {
      return false;
    }
  }
  return true;
}

class SafetensorsChecksumsTest : public testing::Test {
 protected:
  SafetensorsChecksumsTest() {
    EXPECT_TRUE(write_safetensors(path_, small_file()).ok());
    bytes_ = contents_of(path_);
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes_.data(), 8);
    data_ = 8 + header_bytes;
    header_ = nlohmann::json::parse(bytes_.substr(8, header_bytes));
  }

  absl::StatusOr<TensorFile> read(const std::string& bytes) {
    write_bytes(path_, bytes);
    return read_safetensors(path_);
  }
  absl::StatusOr<TensorFile> read(const nlohmann::json& header, const std::string& data) {
    const std::string text = header.dump();
    const uint64_t length = text.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return read(bytes + text + data);
  }
  std::string mistake(const absl::StatusOr<TensorFile>& file) {
    const std::string message(file.status().message());
    EXPECT_EQ(message.substr(0, path_.size() + 2), path_ + ": ");
    return message.substr(path_.size() + 2);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "f.safetensors";
  std::string bytes_;
  size_t data_ = 0;  // where it begins
  nlohmann::json header_;
};

TEST(ChecksumTest, IsWhatXxhsumPrints) {
  EXPECT_EQ(checksum(""), "2d06800538d394c2");           // printf '' | xxhsum -H3
  EXPECT_EQ(checksum("attention"), "d9e3b93a025469f7");  // printf attention | xxhsum -H3
}

TEST(ChecksumTest, DoesNotDependOnThePieces) {
  std::string bytes;
  for (uint32_t i = 0; i < 10000; ++i) bytes += static_cast<char>(i * i / 7);
  for (const size_t piece : {1, 7, 64, 1000, 10000}) {
    Checksum sum;
    for (size_t i = 0; i < bytes.size(); i += piece)
      sum.add(std::string_view(bytes).substr(i, piece));
    EXPECT_EQ(sum.digits(), checksum(bytes)) << piece;
  }
}

TEST_F(SafetensorsChecksumsTest, EveryTensorHasOneAndTheHeaderToo) {
  const auto& metadata = header_["__metadata__"];
  EXPECT_EQ(metadata["xxh3:b"], checksum(std::string_view("\0\0\xc0\x3f\0\0\0\xc0", 8)));
  EXPECT_EQ(metadata["xxh3:m"], checksum(std::string_view("\1\0\1", 3)));
  EXPECT_EQ(metadata["xxh3:none"], checksum(""));
  nlohmann::json rest = header_;
  rest["__metadata__"].erase("xxh3");
  for (const char* name : {"b", "m", "none", "c"}) rest[name].erase("data_offsets");
  EXPECT_EQ(metadata["xxh3"], checksum(rest.dump()));
}

TEST_F(SafetensorsChecksumsTest, EveryChangedBitIsAnErrorOrChangesNothing) {
  int harmless = 0;
  for (size_t position = 0; position < bytes_.size(); ++position) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes_;
      changed[position] = static_cast<char>(changed[position] ^ 1 << bit);
      const absl::StatusOr<TensorFile> file = read(changed);
      if (!file.ok()) {
        EXPECT_NE(mistake(file), "");
        continue;
      }
      EXPECT_TRUE(are_same(*file, *read(bytes_))) << position << ", bit " << bit;
      ++harmless;
    }
  }
  EXPECT_EQ(harmless, 1);  // \u001f may be written \u001F
}

TEST_F(SafetensorsChecksumsTest, ADamagedTensorIsNamed) {
  const size_t place = data_ + header_["c"]["data_offsets"][0].get<size_t>();
  std::string changed = bytes_;
  changed[place + 3] ^= 0x40;
  EXPECT_EQ(
      mistake(read(changed)),
      absl::StrCat("tensor \"c\" is damaged: its checksum is ",
                   checksum(std::string_view(changed).substr(place, 8)), ", but the file says ",
                   checksum(std::string_view(bytes_).substr(place, 8))));
}

TEST_F(SafetensorsChecksumsTest, ADamagedHeaderIsTold) {
  const auto message = [&] { return mistake(read(header_, bytes_.substr(data_))); };
  const auto written = header_["__metadata__"]["xxh3"].get<std::string>();
  header_["__metadata__"]["step"] = "101";
  EXPECT_EQ(message().find("its header is damaged: its checksum is "), 0u);
  EXPECT_NE(message().find(absl::StrCat(", but the file says ", written)), std::string::npos);
  header_["__metadata__"].erase("xxh3");
  EXPECT_EQ(message(), "its tensors have checksums, but its header has none; the file is damaged");
}

TEST_F(SafetensorsChecksumsTest, AFileWithoutAnyIsRead) {
  auto& metadata = header_["__metadata__"];
  for (const char* key : {"xxh3", "xxh3:b", "xxh3:m", "xxh3:none", "xxh3:c"}) metadata.erase(key);
  metadata["step"] = "101";
  const absl::StatusOr<TensorFile> file = read(header_, bytes_.substr(data_));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata.at("step"), "101");
}

// As by a program that reads tensors and metadata, and writes them its own way.
TEST_F(SafetensorsChecksumsTest, TensorsMayStandInAnotherOrder) {
  const size_t b = header_["b"]["data_offsets"][0], c = header_["c"]["data_offsets"][0];
  std::swap(header_["b"]["data_offsets"], header_["c"]["data_offsets"]);
  std::string data = bytes_.substr(data_);
  std::swap_ranges(data.begin() + b, data.begin() + b + 8, data.begin() + c);
  const absl::StatusOr<TensorFile> file = read(header_, data);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata, small_file().metadata);
}

TEST_F(SafetensorsChecksumsTest, ThereAreNoOthersInTheMetadata) {
  for (const char* key : {"xxh3", "xxh3:b", "xxh3:x"}) {
    TensorFile file = small_file();
    file.metadata[key] = "0";
    EXPECT_EQ(
        write_safetensors(path_, file).message(),
        absl::StrCat("cannot write ", path_,
                     ": its metadata has an entry named xxh3, a name reserved for checksums"));
  }
  EXPECT_EQ(read(bytes_)->metadata, small_file().metadata);
}

}  // namespace
}  // namespace qkv
