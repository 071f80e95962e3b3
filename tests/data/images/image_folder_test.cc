// Images of the user's: a folder for each class.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "data/images/decode_image.h"
#include "data/images/image_files.h"
#include "data/show_data.h"
#include "framework/kernels/parallel.h"
#include "tests/data/images/image_files.h"
#include "tests/data/rows.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ImageFolderTest : public testing::Test {
 protected:
  ImageFolderTest() {
    options_.task = "image_folder";
    options_.path = folder_ / "all";
    options_.image_size = 2;
  }

  // An image of one colour.
  void add(const std::string& path, int red, int green, int blue, int64_t side = 3) {
    std::string pixels;
    for (int64_t i = 0; i < side * side; ++i) {
      for (const int part : {red, green, blue}) pixels += static_cast<char>(part);
    }
    write(path, png_bytes(pixels, side, side));
  }
  void write(const std::string& path, const std::string& bytes) {
    fs::create_directories(fs::path(folder_ / path).parent_path());
    write_bytes(folder_ / path, bytes);
  }
  // Twenty different greys in each of two classes.
  void add_two_classes(const std::string& folder = "all", int first = 0) {
    for (int i = first; i < first + 20; ++i) {
      add(absl::StrCat(folder, "/dark/", i, ".png"), i, i, i);
      add(absl::StrCat(folder, "/bright/", i, ".png"), 200 + i, 200 + i, 200 + i);
    }
  }

  // All first pixels of a part, as bytes.
  static std::multiset<int> first_pixels(const Batch& batch) {
    std::multiset<int> pixels;
    for (int64_t row = 0; row < batch.rows(); ++row) {
      pixels.insert(static_cast<int>(std::lround(255 * pixels_of(batch, row)[0])));
    }
    return pixels;
  }

  std::string all(const std::string& name = "") const { return folder_ / ("all" + name); }

  TemporaryFolder folder_;
  DataOptions options_;
};

TEST_F(ImageFolderTest, ClassesAreFoldersInTheOrderOfTheirNames) {
  add_two_classes();
  const auto dataset = dataset_of(options_);
  EXPECT_THAT(describe_dataset(*dataset), HasSubstr("classes      2: bright, dark\n"
                                                    "images       2 x 2 pixels, grey\n"));
  EXPECT_EQ(dataset->training_size() + dataset->validation_size(), 40);
  const Batch batch = dataset->training_batch(0, 100);
  EXPECT_EQ(batch.inputs[0].shape(), (Shape{dataset->training_size(), 1, 2, 2}));
  for (int64_t row = 0; row < batch.rows(); ++row) {
    EXPECT_EQ(class_of(*dataset, batch, row), pixels_of(batch, row)[0] > 0.5 ? "bright" : "dark");
  }
  options_.class_names = "dark bright";
  EXPECT_EQ(dataset_of(options_)->class_names(), (std::vector<std::string>{"dark", "bright"}));
}

TEST_F(ImageFolderTest, AColourHasThreeChannels) {
  for (int i = 0; i < 20; ++i) {
    add(absl::StrCat("all/a/", i, ".png"), 10, 20 + i, 60);
    add(absl::StrCat("all/b/", i, ".png"), 110, 20 + i, 60);
  }
  options_.channels = 3;
  const auto dataset = dataset_of(options_);
  EXPECT_EQ(dataset->shape().channels, 3);
  const Batch batch = dataset->training_batch(0, 100);
  const std::vector<double> pixels = pixels_of(batch, 0);  // the channels one after the other
  ASSERT_EQ(pixels.size(), 12u);
  EXPECT_NEAR(pixels[0], 10.0 / 255, 1e-7);
  EXPECT_NEAR(pixels[3], 10.0 / 255, 1e-7);
  EXPECT_NEAR(pixels[8], 60.0 / 255, 1e-7);
  EXPECT_THAT(describe_dataset(*dataset), HasSubstr("in colour; below they are drawn in grey\n"));
  EXPECT_NE(describe_examples(*dataset, Split::kTraining, 2), "");

  // A picture of them has their colours.
  const std::string sheet = folder_ / "sheet.png";
  ASSERT_TRUE(write_contact_sheet(*dataset, Split::kTraining, 1, sheet).ok());
  const Batch first = dataset->training_batch(0, 1);
  const absl::StatusOr<ColourImage> image = decode_image(contents_of(sheet));
  ASSERT_TRUE(image.ok());
  const size_t inside = static_cast<size_t>(3 * (10 * image->width + 10));
  for (size_t channel = 0; channel < 3; ++channel) {
    EXPECT_EQ(static_cast<unsigned char>(image->bytes[inside + channel]),
              std::lround(255 * pixels_of(first, 0)[4 * channel]));
  }
}

TEST_F(ImageFolderTest, AnImageInColourIsMovedAndMirroredAsAWhole) {
  // Red at the left above, green at the right above, blue at the left below.
  const std::string pixels = std::string("\xFF\0\0\0\xFF\0\0\0\xFF\0\0\0", 12);
  for (int i = 0; i < 2; ++i) {
    write(absl::StrCat("all/a/", i, ".png"), png_bytes(pixels, 2, 2));
    add(absl::StrCat("other/b/", i, ".png"), i, 0, 0);
    add(absl::StrCat("all/b/", i, ".png"), 9, 9, i);
  }
  add("other/a/1.png", 77, 0, 0);
  options_.channels = 3;
  options_.validation_path = folder_ / "other";
  options_.train_fraction = 1;
  options_.shift = 1;
  options_.mirror = true;
  const auto dataset = dataset_of(options_);
  std::set<std::vector<double>> seen;
  for (int64_t index = 0; index < 400; ++index) {
    const Batch batch = dataset->training_batch(index, 1);
    if (class_of(*dataset, batch, 0) == "a") seen.insert(pixels_of(batch, 0));
  }
  EXPECT_TRUE(seen.contains({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}));
  EXPECT_TRUE(seen.contains({0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}));  // mirrored
  EXPECT_TRUE(seen.contains({0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0}));  // moved down
  for (const auto& image : seen) {
    double sum = 0;
    for (const double x : image) sum += x;
    EXPECT_LE(sum, 3);
  }
}

TEST_F(ImageFolderTest, TheSameImageIsOnOneSideOnly) {
  add_two_classes();
  const auto before = dataset_of(options_);
  // Each once more: as another file with other bytes, enlarged, and of the other class.
  for (int i = 0; i < 20; ++i) {
    add(absl::StrCat("all/dark/again-", i, ".png"), i, i, i, /*side=*/5);
    add(absl::StrCat("all/bright/dark-", i, ".png"), i, i, i);
  }
  const auto dataset = dataset_of(options_);
  const std::multiset<int> training = first_pixels(dataset->training_batch(0, 1000));
  const std::multiset<int> validation =
      first_pixels(dataset->validation_batch(0, dataset->validation_size()));
  for (const int pixel : validation) EXPECT_FALSE(training.contains(pixel)) << pixel;
  EXPECT_GT(dataset->training_size(), before->training_size());
  // Validation has each dark image also as that of the other class.
  for (const int pixel : validation) EXPECT_EQ(validation.count(pixel), pixel < 100 ? 2u : 1u);
  EXPECT_EQ(std::set<int>(validation.begin(), validation.end()).size(), 4u);
}

TEST_F(ImageFolderTest, ValidationMayHaveAFolderOfItsOwn) {
  add_two_classes();
  add_two_classes("other", 20);
  options_.validation_path = folder_ / "other";
  options_.train_fraction = 1;
  options_.validation_examples = 30;
  const auto dataset = dataset_of(options_);
  EXPECT_EQ(dataset->training_size(), 40);
  EXPECT_EQ(dataset->validation_size(), 30);
  const std::multiset<int> judged = first_pixels(dataset->validation_batch(0, 30));
  for (int i = 20; i < 40; ++i) {
    if (!judged.contains(i)) fs::remove(folder_ / absl::StrCat("other/dark/", i, ".png"));
    if (!judged.contains(200 + i)) fs::remove(folder_ / absl::StrCat("other/bright/", i, ".png"));
  }
  EXPECT_EQ(dataset_of(options_)->fingerprint(), dataset->fingerprint()) << "of what is judged";
}

TEST_F(ImageFolderTest, NeitherThreadsNorTheOrderOnTheDiskChangeABit) {
  add_two_classes();
  const int before = kernels::num_threads();
  kernels::set_num_threads(1);
  const auto one = dataset_of(options_);
  kernels::set_num_threads(2);
  const auto two = dataset_of(options_);
  kernels::set_num_threads(before);
  EXPECT_EQ(one->fingerprint(), two->fingerprint());
  EXPECT_TRUE(same(one->training_batch(3, 8), two->training_batch(3, 8)));
  EXPECT_TRUE(same(one->validation_batch(0, 2), two->validation_batch(0, 2)));
  fs::rename(all("/dark/5.png"), all("/dark/5-.png"));
  fs::rename(all("/dark/5-.png"), all("/dark/5.png"));
  EXPECT_EQ(one->fingerprint(), dataset_of(options_)->fingerprint());
  add("all/dark/5.png", 55, 55, 55);
  EXPECT_NE(one->fingerprint(), dataset_of(options_)->fingerprint());
}

TEST_F(ImageFolderTest, ForValidationAreAsManyAsAreAskedFor) {
  add_two_classes();
  options_.train_fraction = 0.5;
  for (const int64_t asked : {1, 3, 5}) {
    options_.validation_examples = asked;
    EXPECT_EQ(dataset_of(options_)->validation_size(), asked);
  }
}

TEST_F(ImageFolderTest, EachClassGivesItsShareToValidation) {
  add_two_classes();
  for (const double share : {0.25, 0.5, 0.75}) {
    options_.train_fraction = 1 - share;
    const auto dataset = dataset_of(options_);
    const Batch batch = dataset->validation_batch(0, dataset->validation_size());
    for (const double label : {0., 1.}) {
      EXPECT_EQ(std::ranges::count(batch.targets.to_vector(), label), 20 * share) << share;
    }
  }
}

// The most memory that this process has had since the last call, in bytes.
int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  int64_t kilobytes = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) kilobytes = std::stoll(line.substr(6));
  }
  std::ofstream("/proc/self/clear_refs") << 5;
  return kilobytes << 10;
}

TEST_F(ImageFolderTest, ManyThreadsDecodeInOneGibibyte) {
  constexpr int kSide = 8192, kThreads = 8;  // kMostPixels: alone, an image takes half of it
  const std::string white_row = '\0' + std::string(kSide / 8, '\xFF');
  std::string rows;
  for (int row = 0; row < kSide; ++row) rows += white_row;
  write("large.png", raw_png(kSide, kSide, 1, 0, rows));
  peak_memory();
  const int64_t before = peak_memory();
  std::vector<std::string> pixels(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::string& each : pixels) {
      threads.emplace_back([&each, this] {
        const auto image = read_image(folder_ / "large.png", {.height = 1, .width = 2});
        if (image.ok()) each = *image;
      });
    }
  }
  EXPECT_THAT(pixels, testing::Each("\xFF\xFF"));
  EXPECT_LE(peak_memory() - before, static_cast<int64_t>(kDecodingMemory));
}

}  // namespace
}  // namespace qkv
