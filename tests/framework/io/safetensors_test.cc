#include "framework/io/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "tests/temporary_folder.h"

namespace qkv {
namespace {

std::string file_of(const std::string& header, const std::string& data,
                    std::optional<uint64_t> header_bytes = std::nullopt) {
  const uint64_t length = header_bytes.value_or(header.size());
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

std::string header_of(const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  return file.substr(8, length);
}

class SafetensorsTest : public testing::Test {
 protected:
  // What is wrong with a file of these bytes, without its name; "" when nothing is.
  std::string mistake(const std::string& bytes) {
    write_bytes(path_, bytes);
    const absl::StatusOr<TensorFile> file = read_safetensors(path_);
    const absl::StatusOr<TensorFileHeader> header = read_safetensors_header(path_);
    if (file.ok()) {
      EXPECT_TRUE(header.ok()) << header.status();
      return "";
    }
    const std::string message(file.status().message());
    if (!header.ok()) {
      EXPECT_EQ(header.status().message(), message);
    }
    EXPECT_EQ(message.substr(0, path_.size() + 2), path_ + ": ");
    return message.substr(path_.size() + 2);
  }
  std::string header_mistake(const std::string& header, size_t data_bytes = 0) {
    return mistake(file_of(header, std::string(data_bytes, '\0')));
  }
  std::string tensor_mistake(const std::string& tensor, size_t data_bytes = 0) {
    return header_mistake("{\"a\":" + tensor + "}", data_bytes);
  }
  std::string written(const TensorFile& file) {
    const absl::Status status = write_safetensors(path_, file);
    EXPECT_TRUE(status.ok()) << status;
    return contents_of(path_);
  }
  std::string write_mistake(const TensorFile& file) {
    return std::string(write_safetensors(path_, file).message());
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "f.safetensors";
};

// What safetensors 0.8.0 for Python wrote of
//   {"b": array([[1.5, -2]], float32), "a": array([7, -1], int64), "m": array([True, False, True])}
// with the metadata {"step": "100"}.
const std::string& reference_bytes() {
  static const std::string bytes = file_of(
      R"({"__metadata__":{"step":"100"},"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
      R"("b":{"dtype":"F32","shape":[1,2],"data_offsets":[16,24]},)"
      R"("m":{"dtype":"BOOL","shape":[3],"data_offsets":[24,27]}}  )",
      std::string("\x07\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\xc0\x3f\0\0\0\xc0\1\0\1",
                  27));
  return bytes;
}

TensorFile reference_file() {
  return {{{"step", "100"}},
          {{"b", Array::of(Shape{1, 2}, DType::f32, std::vector<double>{1.5, -2})},
           {"m", Array::of(Shape{3}, DType::boolean, std::vector<double>{1, 0, 1})},
           {"a", Array::of(Shape{2}, std::vector<int64_t>{7, -1})}}};
}

// NumPy: np.array([…], "<u2").view("f2").astype("f4").
TEST_F(SafetensorsTest, F16IsReadAsF32) {
  constexpr std::pair<uint16_t, float> kHalves[] = {
      {0x3C00, 1.0F},     {0xC000, -2.0F},        {0x3555, 0x1.554p-2F}, {0x7BFF, 65504.0F},
      {0x0400, 0x1p-14F}, {0x03FF, 0x1.ff8p-15F}, {0x0001, 0x1p-24F},    {0x8001, -0x1p-24F},
      {0x8000, -0.0F},    {0xFC00, -INFINITY},    {0x7C00, INFINITY},    {0x2E66, 0x1.998p-4F}};
  std::string data;
  for (const auto& [bits, value] : kHalves) {
    data.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  write_bytes(path_, file_of(R"({"a":{"dtype":"F16","shape":[12],"data_offsets":[0,24]}})", data));
  const absl::StatusOr<TensorFile> file = read_safetensors(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  const Array& array = file->tensors[0].array;
  ASSERT_EQ(array.dtype(), DType::f32);
  ASSERT_EQ(array.size(), std::ssize(kHalves));
  for (int64_t i = 0; i < array.size(); ++i) {
    EXPECT_EQ(array.data<float>()[i], kHalves[i].second) << i;
    EXPECT_EQ(std::signbit(array.data<float>()[i]), std::signbit(kHalves[i].second)) << i;
  }
}

TEST_F(SafetensorsTest, WhatIsNotWantedIsOfAnyTypeAndNotRead) {
  write_bytes(path_, file_of(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]},)"
                             R"("b":{"dtype":"I4","shape":[3],"data_offsets":[2,4]},)"
                             R"("c":{"dtype":"BOOL","shape":[1],"data_offsets":[4,5]}})",
                             "\7\7\7\7\1"));
  const auto file =
      read_safetensors(path_, [](const TensorEntry& entry) { return entry.name == "c"; });
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->tensors.size(), 1u);
  EXPECT_EQ(file->tensors[0].name, "c");
  EXPECT_FALSE(read_safetensors(path_).ok());
}

TEST_F(SafetensorsTest, APickleIsNamedWithTheWayOut) {
  for (const std::string& beginning :
       {std::string("PK\3\4\0\0\b\b", 8), std::string("\x80\2\x8a\nl\xfc\x9c", 7)}) {
    EXPECT_EQ(mistake(beginning + std::string(100, 'x')),
              "not a safetensors file: it is a pickle of PyTorch, which is a program; in Python, "
              "from safetensors.torch import save_file, and save_file(torch.load(FILE, "
              "weights_only=True), NEW_FILE)");
  }
}

TEST_F(SafetensorsTest, WritesTheBytesOfTheReferenceLibraryAndChecksums) {
  std::string header = header_of(written(reference_file())), data = contents_of(path_).substr(8);
  data.erase(0, header.size());
  header.erase(header.find(",\"xxh3\":"), header.find("},\"a\"") - header.find(",\"xxh3\":"));
  header.erase(header.find_last_not_of(' ') + 1);
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(file_of(header, data), reference_bytes());
}

TEST_F(SafetensorsTest, EveryTypeAndShapeComesBackBitForBit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  TensorFile file;
  file.metadata = {{"", ""}, {"config", "a \"b\"\n\t\\ é \x01"}, {"z", std::string("\0", 1)}};
  file.tensors = {
      {"mask", Array::of(Shape{3}, DType::boolean, std::vector<double>{0, 1, 1})},
      {"blocks.0.weight", Array::of(Shape{2, 1}, DType::f32, std::vector<double>{1e-45, -0.0})},
      {"half", Array::of(Shape{3}, DType::bf16, std::vector<double>{1.5, nan, -infinity})},
      {"scalar", Array::of(Shape(), DType::f64, std::vector<double>{0.1})},
      {"empty", Array(Shape{4, 0}, DType::f64)},
      {"counts", Array::of(Shape{2}, std::vector<int64_t>{std::numeric_limits<int64_t>::min(),
                                                          std::numeric_limits<int64_t>::max()})},
      {"strange \"name\"\n",
       Array::of(Shape{1, 1, 1, 1, 1, 1, 1, 1}, DType::f32, std::vector<double>{infinity})},
  };
  const std::string bytes = written(file);
  const absl::StatusOr<TensorFile> again = read_safetensors(path_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->metadata, file.metadata);
  ASSERT_EQ(again->tensors.size(), file.tensors.size());
  for (const NamedArray& tensor : file.tensors) {
    const auto found =
        std::find_if(again->tensors.begin(), again->tensors.end(),
                     [&](const NamedArray& other) { return other.name == tensor.name; });
    ASSERT_NE(found, again->tensors.end()) << tensor.name;
    EXPECT_EQ(found->array.describe(), tensor.array.describe());
    EXPECT_EQ(std::memcmp(found->array.raw(), tensor.array.raw(), tensor.array.bytes()), 0)
        << tensor.name;
  }
  EXPECT_EQ(written(*again), bytes);
}

TEST_F(SafetensorsTest, AFileOfNothingIsFine) {
  EXPECT_EQ(header_of(written({})).find("{\"__metadata__\":{\"xxh3\":\""), 0u);
  EXPECT_EQ(read_safetensors(path_)->tensors.size(), 0u);
}

TEST_F(SafetensorsTest, WhatCannotBeWrittenIsAnError) {
  const Array array = Array::full(Shape{1}, DType::f32, 1);
  const std::string start = "cannot write " + path_ + ": ";
  EXPECT_EQ(write_mistake({{}, {{"a", Array::full(Shape{1}, DType::f128, 1)}}}),
            start +
                "tensor \"a\" is f128, a type of gradient checks that files do not have; cast it "
                "to f64");
  EXPECT_EQ(write_mistake({{}, {{"a", array}, {"a", array}}}), start + "two tensors named \"a\"");
  EXPECT_EQ(write_mistake({{}, {{"__metadata__", array}}}),
            start + "two tensors named \"__metadata__\"");
  EXPECT_EQ(write_mistake({{}, {{"\xff", array}}}),
            start + "a name or the metadata is not valid UTF-8");
  EXPECT_EQ(write_mistake({{{"config", "\xff"}}, {}}),
            start + "a name or the metadata is not valid UTF-8");
  EXPECT_EQ(write_mistake({{}, {{"a", Array()}}}), start + "tensor \"a\" has no numbers");
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(write_safetensors(folder_ / "none/f", {}).message(),
            "cannot write " + (folder_ / "none/f") + ": No such file or directory");
}

TEST_F(SafetensorsTest, AFileThatCannotBeReadIsAnError) {
  const auto message = [](const std::string& path) {
    const absl::Status status = read_safetensors(path).status();
    EXPECT_EQ(status, read_safetensors_header(path).status());
    return std::string(status.message());
  };
  EXPECT_EQ(message(path_), "cannot read " + path_ + ": No such file or directory");
  EXPECT_EQ(message(folder_.path()), "cannot read " + folder_.path() + ": Is a directory");
  EXPECT_EQ(message("/dev/zero"), "cannot read /dev/zero: it is not a regular file");
}

TEST_F(SafetensorsTest, ForeignFilesAreTold) {
  const std::string start = "not a safetensors file: ";
  const std::string no_length =
      start + "it does not begin with the length of a header of at most 100000000 bytes";
  EXPECT_EQ(mistake(""), start + "it is empty");
  EXPECT_EQ(mistake("short"), start + "it has only 5 bytes");
  EXPECT_EQ(mistake("This is just some text.\n"), no_length);
  EXPECT_EQ(mistake(file_of("{}", "", uint64_t{1} << 63)), no_length);
  EXPECT_EQ(mistake(file_of("{}", "", std::numeric_limits<uint64_t>::max())), no_length);
  EXPECT_EQ(mistake(file_of("{}", "", 3)),
            start +
                "its header would be 3 bytes long, but the file has 10; it may have been cut "
                "off");
  EXPECT_EQ(mistake(file_of("", "")), start + "its header is not a JSON object");
  EXPECT_EQ(header_mistake("[]"), start + "its header is not a JSON object");
  EXPECT_EQ(header_mistake(" {}"), start + "its header is not a JSON object");
}

TEST_F(SafetensorsTest, AHugeHeaderIsNotRead) {
  write_bytes(path_, file_of("", "", 100'000'001));
  std::filesystem::resize_file(path_, 200'000'000);  // sparse
  EXPECT_EQ(read_safetensors(path_).status().message(),
            path_ +
                ": not a safetensors file: it does not begin with the length of a header of at "
                "most 100000000 bytes");
}

TEST_F(SafetensorsTest, AHeaderThatIsNoJsonIsPlaced) {
  EXPECT_EQ(header_mistake("{"), "the header is not valid JSON at its byte 2");
  EXPECT_EQ(header_mistake("{}x"), "the header is not valid JSON at its byte 3");
  EXPECT_EQ(header_mistake("{\"a\xff\":{}}"), "the header is not valid JSON at its byte 4");
  EXPECT_EQ(header_mistake(std::string("{\0}", 3)), "the header is not valid JSON at its byte 2");
  EXPECT_EQ(header_mistake("{} {}"), "the header is not valid JSON at its byte 4");
}

TEST_F(SafetensorsTest, AHeaderOfTheWrongFormIsTold) {
  const std::string where_none = " where the format has none";
  EXPECT_EQ(header_mistake("{\"a\":1}"), "tensor \"a\" has a number" + where_none);
  EXPECT_EQ(header_mistake("{\"a\":null}"), "tensor \"a\" has null" + where_none);
  EXPECT_EQ(header_mistake("{\"a\":[]}"), "tensor \"a\" has an array" + where_none);
  EXPECT_EQ(header_mistake("{\"__metadata__\":\"x\"}"), "__metadata__ has a string" + where_none);
  EXPECT_EQ(header_mistake("{\"__metadata__\":{\"step\":100}}"),
            "__metadata__ has a number" + where_none);
  EXPECT_EQ(header_mistake("{\"__metadata__\":{\"step\":{}}}"),
            "__metadata__ has an object" + where_none);
  EXPECT_EQ(tensor_mistake("{\"dtype\":1}"), "tensor \"a\" has a number" + where_none);
  EXPECT_EQ(tensor_mistake("{\"dtype\":true}"), "tensor \"a\" has a boolean" + where_none);
  EXPECT_EQ(tensor_mistake("{\"shape\":\"x\"}"), "tensor \"a\" has a string" + where_none);
  EXPECT_EQ(tensor_mistake("{\"shape\":[[]]}"), "tensor \"a\" has an array" + where_none);
  EXPECT_EQ(tensor_mistake("{\"shape\":[-1]}"), "tensor \"a\" has a negative number" + where_none);
  EXPECT_EQ(tensor_mistake("{\"shape\":[1.5]}"),
            "tensor \"a\" has a number that is not a 64-bit integer" + where_none);
  EXPECT_EQ(tensor_mistake("{\"shape\":[99999999999999999999]}"),
            "tensor \"a\" has a number that is not a 64-bit integer" + where_none);
  EXPECT_EQ(tensor_mistake("{\"shape\":[9223372036854775808]}"),
            "tensor \"a\" has a number that is too large");
  EXPECT_EQ(tensor_mistake("{\"zebra\":1}"), "tensor \"a\" has an unknown field \"zebra\"");
  EXPECT_EQ(tensor_mistake("{\"shape\":[],\"data_offsets\":[0,4]}", 4),
            "tensor \"a\" has no dtype");
  EXPECT_EQ(tensor_mistake("{\"dtype\":\"F32\",\"data_offsets\":[0,4]}", 4),
            "tensor \"a\" has no shape");
  EXPECT_EQ(tensor_mistake("{\"dtype\":\"F32\",\"shape\":[]}", 4),
            "tensor \"a\" has no data_offsets");
  std::string deep = "{\"a\":";
  for (int i = 0; i < 1000000; ++i) deep += "[{\"a\":";
  EXPECT_EQ(header_mistake(deep), "tensor \"a\" has an array" + where_none);
}

TEST_F(SafetensorsTest, WhatComesTwiceIsTold) {
  const std::string tensor = R"({"dtype":"F32","shape":[],"data_offsets":[0,4]})";
  EXPECT_EQ(header_mistake("{\"a\":" + tensor + ",\"a\":" + tensor + "}", 4),
            "the header names \"a\" twice");
  EXPECT_EQ(header_mistake("{\"__metadata__\":{},\"__metadata__\":{}}"),
            "the header names \"__metadata__\" twice");
  EXPECT_EQ(header_mistake("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}"),
            "__metadata__ has the field \"a\" twice");
  EXPECT_EQ(tensor_mistake(R"({"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]})", 4),
            "tensor \"a\" has the field \"dtype\" twice");
}

TEST_F(SafetensorsTest, ATensorOfTheWrongSizeIsTold) {
  EXPECT_EQ(tensor_mistake(R"({"dtype":"F8_E5M2","shape":[],"data_offsets":[0,1]})", 1),
            "tensor \"a\" has the dtype \"F8_E5M2\"; this program knows F64, F32, F16, BF16, I64 "
            "and BOOL");
  EXPECT_EQ(tensor_mistake(R"({"dtype":"F16","shape":[3],"data_offsets":[0,12]})", 12),
            "tensor \"a\" is F16[3], which takes 6 bytes, but its data_offsets span 12");
  EXPECT_EQ(tensor_mistake(R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,20]})", 20),
            "tensor \"a\" is F32[2, 3], which takes 24 bytes, but its data_offsets span 20");
  EXPECT_EQ(tensor_mistake(R"({"dtype":"F32","shape":[],"data_offsets":[4,0]})", 4),
            "tensor \"a\" has data_offsets that are not a begin and an end");
  EXPECT_EQ(tensor_mistake(R"({"dtype":"F32","shape":[],"data_offsets":[0,2,4]})", 4),
            "tensor \"a\" has data_offsets that are not a begin and an end");
  const std::string overflows = "tensor \"a\" has a shape whose product overflows";
  EXPECT_EQ(
      tensor_mistake(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})"),
      overflows);
  EXPECT_EQ(tensor_mistake(R"({"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]})"),
            overflows);
  EXPECT_EQ(
      tensor_mistake(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]})", 4),
      "tensor \"a\" has 9 dimensions; this program knows at most 8");
  std::string long_shape = "{\"shape\":[1";
  for (int i = 0; i < 100; ++i) long_shape += ",1";
  EXPECT_EQ(tensor_mistake(long_shape + "]}"), "tensor \"a\" has an array that is too long");
  EXPECT_EQ(mistake(file_of(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\1\2")),
            "tensor \"a\" is BOOL but has bytes that are neither 0 nor 1");
}

// An allocation of that size would end the program: the file is measured first.
TEST_F(SafetensorsTest, AHugeTensorIsNotAllocatedForASmallFile) {
  EXPECT_EQ(
      tensor_mistake(
          R"({"dtype":"F32","shape":[1000000000000000],"data_offsets":[0,4000000000000000]})", 4),
      "tensor \"a\" is at bytes 0 to 4000000000000000 of the data, but the file has only 4 of "
      "them; it may have been cut off");
}

TEST_F(SafetensorsTest, TensorsFillTheFileWithoutOverlapsAndHoles) {
  const auto two = [this](const std::string& a, const std::string& b, size_t data_bytes) {
    const std::string start = R"({"dtype":"F32","shape":[2],"data_offsets":)";
    return header_mistake("{\"a\":" + start + a + "},\"b\":" + start + b + "}}", data_bytes);
  };
  EXPECT_EQ(two("[0,8]", "[8,16]", 16), "");
  EXPECT_EQ(two("[8,16]", "[0,8]", 16), "");
  EXPECT_EQ(two("[0,8]", "[4,12]", 12), "tensor \"b\" at bytes 4 to 12 overlaps \"a\"");
  EXPECT_EQ(two("[0,8]", "[0,8]", 8), "tensor \"b\" at bytes 0 to 8 overlaps \"a\"");
  EXPECT_EQ(two("[0,8]", "[12,20]", 20), "there is a gap of 4 bytes before tensor \"b\"");
  EXPECT_EQ(two("[4,12]", "[12,20]", 20), "there is a gap of 4 bytes before tensor \"a\"");
  EXPECT_EQ(two("[0,8]", "[8,16]", 20), "there are 4 bytes after the last tensor");
  EXPECT_EQ(
      two("[0,8]", "[8,16]", 15),
      "tensor \"b\" is at bytes 8 to 16 of the data, but the file has only 15 of them; it may "
      "have been cut off");
}

TEST_F(SafetensorsTest, ATensorOfNothingTakesNoPlace) {
  EXPECT_EQ(header_mistake(R"({"z":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                           R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                           R"("y":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]}})",
                           4),
            "");
}

TEST_F(SafetensorsTest, NoTruncationIsTakenForAFile) {
  const std::string& bytes = reference_bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(mistake(bytes.substr(0, size)), "") << size;
    EXPECT_NE(mistake(bytes.substr(bytes.size() - size)), "") << size;
  }
}

}  // namespace
}  // namespace qkv
