// Images and their classes, from files in MNIST's format.

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "data/images/idx.h"
#include "data/show_data.h"
#include "tests/data/images/image_files.h"
#include "tests/data/rows.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

// A folder as that of MNIST, of images of 2 x 3 pixels.
class IdxDataTest : public testing::Test {
 protected:
  IdxDataTest() {
    write(kImages,
          idx_bytes({4, 2, 3}, std::string("\x00\x33\x66\x99\xCC\xFF", 6) + std::string(6, '\x11') +
                                   std::string(6, '\x22') + std::string(6, '\x44')));
    write(kLabels, idx_bytes({4}, std::string("\x02\x00\x01\x02", 4)));
    write(kTestImages, idx_bytes({3, 2, 3}, std::string(18, '\x55')));
    write(kTestLabels, idx_bytes({3}, std::string("\x01\x01\x02", 3)));
    options_.task = "idx";
    options_.path = folder_.path();
  }

  void write(const std::string& name, const std::string& bytes) {
    write_bytes(folder_ / name, bytes);
  }
  std::string path(const char* name) const { return folder_ / name; }

  static constexpr char kImages[] = "train-images-idx3-ubyte";
  static constexpr char kLabels[] = "train-labels-idx1-ubyte";
  static constexpr char kTestImages[] = "t10k-images-idx3-ubyte";
  static constexpr char kTestLabels[] = "t10k-labels-idx1-ubyte";
  TemporaryFolder folder_;
  DataOptions options_;
};

TEST_F(IdxDataTest, ImagesAndLabelsAreThoseOfTheFiles) {
  const auto dataset = dataset_of(options_);
  const Batch training = dataset->training_batch(5, 9);  // more than there are: each once
  EXPECT_EQ(training.inputs[0].shape(), (Shape{4, 1, 2, 3}));
  EXPECT_EQ(training.targets.to_vector(), (std::vector<double>{2, 0, 1, 2}));
  const std::vector<double> first = pixels_of(training, 0);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(first[i], 0.2 * static_cast<double>(i), 1e-7);
  const Batch validation = dataset->validation_batch(1, 2);
  EXPECT_EQ(validation.targets.to_vector(), (std::vector<double>{1, 2}));
  EXPECT_NEAR(pixels_of(validation, 1)[5], 1.0 / 3, 1e-7);
  EXPECT_EQ(dataset->validation_example(2).answer, std::vector<int64_t>{2});
}

TEST_F(IdxDataTest, TrainingDrawsFromAllImages) {
  const auto dataset = dataset_of(options_);
  std::set<std::vector<double>> seen;
  for (int64_t index = 0; index < 30; ++index) {
    const Batch batch = dataset->training_batch(index, 2);
    for (const int64_t row : {0, 1}) seen.insert(pixels_of(batch, row));
  }
  EXPECT_EQ(seen.size(), 4u);
}

// One image of 3 x 3 pixels, 1 … 9, in batches of one: every change of it that comes up.
std::set<std::vector<double>> changed_images(const DataOptions& options,
                                             const std::string& folder) {
  std::string pixels;
  for (int i = 1; i <= 9; ++i) pixels += static_cast<char>(i);
  for (const std::string part : {"train", "t10k"}) {
    write_bytes(absl::StrCat(folder, "/", part, "-images-idx3-ubyte"),
                idx_bytes({2, 3, 3}, pixels + pixels));
    write_bytes(absl::StrCat(folder, "/", part, "-labels-idx1-ubyte"),
                idx_bytes({2}, std::string("\x00\x01", 2)));
  }
  const auto dataset = dataset_of(options);
  const auto bytes_of = [](const Batch& batch) {
    std::vector<double> numbers;
    for (const double x : pixels_of(batch, 0)) numbers.push_back(std::round(255 * x));
    return numbers;
  };
  EXPECT_EQ(bytes_of(dataset->validation_batch(0, 1)),
            (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}));  // is never changed
  std::set<std::vector<double>> seen;
  for (int64_t index = 0; index < 200; ++index)
    seen.insert(bytes_of(dataset->training_batch(index, 1)));
  return seen;
}

TEST_F(IdxDataTest, ImagesOfTrainingAreMovedInEveryDirection) {
  options_.shift = 1;
  const auto seen = changed_images(options_, folder_.path());
  EXPECT_EQ(seen.size(), 9u);
  EXPECT_TRUE(seen.contains({1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(seen.contains({0, 0, 0, 0, 1, 2, 0, 4, 5}));
  EXPECT_TRUE(seen.contains({5, 6, 0, 8, 9, 0, 0, 0, 0}));
  EXPECT_TRUE(seen.contains({0, 4, 5, 0, 7, 8, 0, 0, 0}));
}

TEST_F(IdxDataTest, AnImageIsNotMovedOutOfSight) {
  options_.shift = 2;
  EXPECT_FALSE(changed_images(options_, folder_.path()).contains(std::vector<double>(9, 0)));
}

TEST_F(IdxDataTest, HalfOfTheImagesOfTrainingAreMirrored) {
  options_.mirror = true;
  EXPECT_EQ(
      changed_images(options_, folder_.path()),
      (std::set<std::vector<double>>{{1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 2, 1, 6, 5, 4, 9, 8, 7}}));
}

TEST_F(IdxDataTest, AnyOfTheFilesMayBeGzipped) {
  const Batch plain = dataset_of(options_)->training_batch(0, 4);
  for (const char* name : {kImages, kTestLabels}) {
    write(absl::StrCat(name, ".gz"), gzipped(contents_of(path(name))));
    std::filesystem::remove(path(name));
  }
  EXPECT_TRUE(same(plain, dataset_of(options_)->training_batch(0, 4)));
}

TEST_F(IdxDataTest, TheFingerprintTellsFilesApart) {
  const std::string before = dataset_of(options_)->fingerprint();
  EXPECT_EQ(before.size(), 16u);
  EXPECT_EQ(before, dataset_of(options_, 2)->fingerprint());
  write(kTestLabels, idx_bytes({3}, std::string("\x01\x00\x02", 3)));
  EXPECT_NE(before, dataset_of(options_)->fingerprint());
}

TEST_F(IdxDataTest, AnImageIsDrawnWithACharacterForTwoPixels) {
  write(kImages, idx_bytes({2, 3, 4}, std::string("\x00\x00\xFF\xFF"
                                                  "\x00\xFF\x00\xFF"
                                                  "\xFF\xFF\x00\x80",
                                                  12) +
                                          std::string(12, '\xFF')));
  write(kLabels, idx_bytes({2}, std::string("\x00\x01", 2)));
  write(kTestImages, idx_bytes({1, 3, 4}, std::string(12, '\x00')));
  write(kTestLabels, idx_bytes({1}, std::string("\x00", 1)));
  options_.class_names = "corner whole";
  const auto dataset = dataset_of(options_);
  EXPECT_EQ(describe_examples(*dataset, Split::kTraining, 2),
            " ++@  @@@@\n"
            "++ :  ++++\n"
            "corn  whol\n");
  const std::string black = "\x1b[38;2;0;0;0;48;2;0;0;0m▀";
  EXPECT_EQ(describe_examples(*dataset, Split::kValidation, 1, Colours::kAll),
            absl::StrCat(black, black, black, black, "\x1b[0m\n", black, black, black, black,
                         "\x1b[0m\ncorn\n"));
  const std::string white = "\x1b[38;5;255;48;5;255m▀", above = "\x1b[38;5;255;48;5;232m▀";
  const std::string text = describe_examples(*dataset, Split::kTraining, 2, Colours::k256);
  EXPECT_NE(text.find("  " + white + white + white + white + "\x1b[0m\n"), text.npos) << text;
  EXPECT_NE(text.find("  " + above + above + above + above + "\x1b[0m\n"), text.npos) << text;
}

TEST_F(IdxDataTest, APictureHasThePixelsOfItsImages) {
  const std::string file = folder_ / "sheet.png";
  const auto dataset = dataset_of(options_);
  const auto classes = write_contact_sheet(*dataset, Split::kTraining, 4, file);
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_EQ(*classes, "2 0\n1 2\n");

  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, file.c_str()), 0) << image.message;
  image.format = PNG_FORMAT_GRAY;
  const size_t scale = 32, gap = 4;  // of 2 x 3 pixels, both sides about a hundred
  ASSERT_EQ(image.width, 6 * scale + 3 * gap);
  ASSERT_EQ(image.height, 4 * scale + 3 * gap);
  std::vector<uint8_t> greys(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, greys.data(), 0, nullptr), 0) << image.message;
  const auto at = [&](size_t y, size_t x) { return greys[y * image.width + x]; };
  EXPECT_EQ(at(gap, gap), 0x00);
  EXPECT_EQ(at(gap + 2 * scale - 1, gap + 3 * scale - 1), 0xFF);
  EXPECT_EQ(at(gap + scale - 1, gap + scale), 0x33);
  EXPECT_EQ(at(gap, 2 * gap + 3 * scale), 0x11);
  EXPECT_EQ(at(2 * gap + 2 * scale, gap), 0x22);
  EXPECT_EQ(at(2 * gap + 4 * scale - 1, 2 * gap + 6 * scale - 1), 0x44);
}

// Files in MNIST's format, and whatever else may be given for one.

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
