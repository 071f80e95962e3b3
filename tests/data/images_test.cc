// Data sets of images: shapes that are drawn, and files in MNIST's format.

#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "data/show.h"
#include "data/show_images.h"
#include "tests/data/idx_bytes.h"
#include "tests/data/rows.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

DataOptions shapes(int64_t size = 16) {
  DataOptions options;
  options.task = "shapes";
  options.image_size = size;
  return options;
}

std::vector<double> pixels_of(const Batch& batch, int64_t row) {
  const std::vector<double> all = batch.inputs[0].to_vector();
  const int64_t size = std::ssize(all) / batch.rows();
  return {all.begin() + row * size, all.begin() + (row + 1) * size};
}

std::string class_of(const Dataset& dataset, const Batch& batch, int64_t row) {
  return dataset.vocabulary().decode({batch.targets.data<int64_t>() + row, 1});
}

TEST(ShapesTest, ABatchIsGreyImagesAndTheirClasses) {
  const auto dataset = dataset_of(shapes(20));
  const DataShape shape = dataset->shape();
  EXPECT_TRUE(shape.is_image());
  EXPECT_EQ(shape.channels, 1);
  EXPECT_EQ(shape.height, 20);
  EXPECT_EQ(shape.width, 20);
  EXPECT_EQ(shape.classes, 4);
  EXPECT_EQ(dataset->vocabulary().texts(),
            (std::vector<std::string>{"circle", "square", "triangle", "cross"}));
  EXPECT_TRUE(dataset->has_answers());
  EXPECT_EQ(dataset->training_size(), 0);
  EXPECT_EQ(dataset->validation_size(), 1000);

  const Batch batch = dataset->training_batch(0, 300);
  EXPECT_EQ(batch.rows(), 300);
  EXPECT_EQ(batch.tokens(), 300);
  ASSERT_EQ(batch.inputs.size(), 1u);
  EXPECT_EQ(batch.inputs[0].shape(), (Shape{300, 1, 20, 20}));
  EXPECT_EQ(batch.inputs[0].dtype(), DType::f32);
  EXPECT_EQ(batch.targets.shape(), Shape{300});
  const std::vector<double> pixels = batch.inputs[0].to_vector();
  EXPECT_GE(*std::ranges::min_element(pixels), 0);
  EXPECT_LE(*std::ranges::max_element(pixels), 1);
  std::map<std::string, int> seen;
  for (int64_t row = 0; row < 300; ++row) ++seen[class_of(*dataset, batch, row)];
  ASSERT_EQ(seen.size(), 4u);
  for (const auto& [name, count] : seen) EXPECT_GT(count, 45) << name;
}

// An image without most of its noise, and the square that its shape fills.
class Blurred {
 public:
  Blurred(const std::vector<double>& pixels, int64_t size) : pixels_(pixels), size_(size) {
    for (int64_t y = 1; y + 1 < size; ++y) {
      for (int64_t x = 1; x + 1 < size; ++x) {
        if (mean(y, x) < 0.5) continue;
        top_ = std::min(top_, y);
        bottom_ = std::max(bottom_, y);
        left_ = std::min(left_, x);
        right_ = std::max(right_, x);
      }
    }
  }

  int64_t height() const { return bottom_ - top_; }
  int64_t width() const { return right_ - left_; }

  // Both -1 … 1 in the square.
  bool lit(double u, double v) const {
    const auto at = [](int64_t low, int64_t high, double share) {
      return std::lround(static_cast<double>(low) +
                         static_cast<double>(high - low) * (share + 1) / 2);
    };
    return mean(at(top_, bottom_, v), at(left_, right_, u)) >= 0.5;
  }

 private:
  double mean(int64_t y, int64_t x) const {
    double sum = 0;
    for (const int64_t dy : {-1, 0, 1}) {
      for (const int64_t dx : {-1, 0, 1}) {
        sum += pixels_[static_cast<size_t>((y + dy) * size_ + x + dx)];
      }
    }
    return sum / 9;
  }

  std::vector<double> pixels_;
  int64_t size_, top_ = 1 << 20, bottom_ = 0, left_ = 1 << 20, right_ = 0;
};

std::string name_of_shape(const Blurred& image) {
  const double edge = 0.85;
  if (image.lit(edge, edge)) return image.lit(edge, -edge) ? "square" : "triangle";
  return image.lit(0.6, 0.6) ? "circle" : "cross";
}

TEST(ShapesTest, AnImageShowsTheShapeThatItsClassSays) {
  constexpr int64_t kSize = 96;
  const auto dataset = dataset_of(shapes(kSize));
  std::set<int64_t> widths;
  for (const Batch& batch : {dataset->training_batch(0, 150), dataset->validation_batch(0, 50)}) {
    for (int64_t row = 0; row < batch.rows(); ++row) {
      const Blurred image(pixels_of(batch, row), kSize);
      EXPECT_EQ(name_of_shape(image), class_of(*dataset, batch, row)) << row;
      EXPECT_NEAR(static_cast<double>(image.height()), static_cast<double>(image.width()), 5);
      widths.insert(image.width());
    }
  }
  EXPECT_LT(*widths.begin(), kSize * 5 / 9);
  EXPECT_GT(*widths.rbegin(), kSize * 6 / 9);
}

TEST(ShapesTest, ABatchIsAFunctionOfSeedAndIndexAlone) {
  const auto dataset = dataset_of(shapes(), 3);
  const Batch batch = dataset->training_batch(7, 16);
  dataset->training_batch(8, 5);
  EXPECT_TRUE(same(batch, dataset->training_batch(7, 16)));
  EXPECT_TRUE(same(batch, dataset_of(shapes(), 3)->training_batch(7, 16)));
  EXPECT_FALSE(same(batch, dataset->training_batch(8, 16)));
  EXPECT_FALSE(same(batch, dataset_of(shapes(), 4)->training_batch(7, 16)));
  EXPECT_EQ(pixels_of(batch, 2), pixels_of(dataset->training_batch(7, 3), 2));
}

TEST(ShapesTest, NoImageComesTwice) {
  const auto dataset = dataset_of(shapes());
  std::set<std::vector<double>> seen;
  const Batch validation = dataset->validation_batch(0, dataset->validation_size());
  for (int64_t row = 0; row < validation.rows(); ++row) {
    EXPECT_TRUE(seen.insert(pixels_of(validation, row)).second);
  }
  for (int64_t index = 0; index < 10; ++index) {
    const Batch training = dataset->training_batch(index, 64);
    for (int64_t row = 0; row < 64; ++row) {
      EXPECT_TRUE(seen.insert(pixels_of(training, row)).second);
    }
  }
}

TEST(ShapesTest, HowLittleEitherSideMayHaveThereAreImages) {
  for (const double fraction : {0.01, 0.99}) {
    DataOptions options = shapes(12);
    options.train_fraction = fraction;
    const auto dataset = dataset_of(options);
    EXPECT_EQ(dataset->training_batch(0, 20).rows(), 20);
    EXPECT_EQ(dataset->validation_batch(0, 20).rows(), 20);
  }
}

TEST(ShapesTest, SeedOneMakesTheseImages) {
  const auto dataset = dataset_of(shapes());
  EXPECT_EQ(describe_dataset(*dataset),
            "classes      4: circle, square, triangle, cross\n"
            "images       16 x 16 pixels, grey\n"
            "training     drawn at random\n"
            "validation   1000 examples\n");
  EXPECT_EQ(describe_examples(*dataset, Split::kTraining, 5),
            R"(..::++*=-....:..  ..    ..  ... ..  :::::::-:..:.:::     . .:::.. .
..*%%@@@@*::..:.  .:--::::::-:. .   ::::::+#-::.-::.     =#%%%%%#=   .
.-%@@%@%%%- :..:  :##%%%#%##%%: ..  ::.::+%#*--.::.:   .*%%%#%%%#%+.
:.*%@@%@%*......  -%%%%%#%#%%%: .   :...*###%*-:::::   :%%%%%%%###%- .
...-=**+-.......  -#%%%#%%%%%%:.    ::.+%%##%##-:.::   .#%%%%%%%%%%  .
:..:.....:..::::  :%%%%%%##%%%:..   ::*#####%#%#=:::  . .+%@%%%%%*.
..:.......:....:  :##%%%%%#%#%-...  ::-:-:--:---:::.       -===-...
:..:.....:::::..  :=+====--===....  :.:::.::::-::::-   ...  . ...
circle            square            triangle          circle

.......::...: ..
..:.......:.....
... .:......:.:.
.::...:=+:......
:.....-%@-....:.
:.::@%%%@%%%-...
...:--+%%=::..:.
...::.-*#:....:.
cross
)");
}

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
  EXPECT_EQ(describe_dataset(*dataset),
            "classes      3: 0, 1, 2\n"
            "images       2 x 3 pixels, grey\n"
            "training     4 examples\n"
            "validation   3 examples\n");
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

TEST_F(IdxDataTest, AnyOfTheFilesMayBeGzipped) {
  const Batch plain = dataset_of(options_)->training_batch(0, 4);
  for (const char* name : {kImages, kTestLabels}) {
    write(absl::StrCat(name, ".gz"), gzipped(contents_of(path(name))));
    std::filesystem::remove(path(name));
  }
  EXPECT_TRUE(same(plain, dataset_of(options_)->training_batch(0, 4)));
}

TEST_F(IdxDataTest, ClassesCanBeNamed) {
  options_.class_names = "shirt  coat bag hat";
  const auto dataset = dataset_of(options_);
  EXPECT_EQ(dataset->vocabulary().texts(),
            (std::vector<std::string>{"shirt", "coat", "bag", "hat"}));
  EXPECT_EQ(dataset->shape().classes, 4);
}

TEST_F(IdxDataTest, ValidationTakesNoMoreThanAskedFor) {
  options_.validation_examples = 2;
  EXPECT_EQ(dataset_of(options_)->validation_size(), 2);
}

TEST_F(IdxDataTest, TheFingerprintTellsFilesApart) {
  const std::string before = dataset_of(options_)->fingerprint();
  EXPECT_EQ(before.size(), 16u);
  EXPECT_EQ(before, dataset_of(options_, 2)->fingerprint());
  write(kTestLabels, idx_bytes({3}, std::string("\x01\x00\x02", 3)));
  EXPECT_NE(before, dataset_of(options_)->fingerprint());
}

TEST_F(IdxDataTest, AFileThatIsNotThereIsNamed) {
  std::filesystem::remove(path(kLabels));
  EXPECT_EQ(error_of(options_), "cannot read " + path(kLabels) + ": No such file or directory");
  options_.path = path(kImages);
  EXPECT_EQ(error_of(options_),
            "cannot read " + path(kImages) + "/" + kImages + ": Not a directory");
  options_.path = "";
  EXPECT_EQ(error_of(options_),
            "data.path is missing: the task \"idx\" reads a folder of images and labels; give one "
            "with --set data.path=FOLDER");
}

TEST_F(IdxDataTest, FilesThatDoNotFitEachOtherAreAnError) {
  write(kTestLabels, idx_bytes({2}, "\x01\x01"));
  EXPECT_EQ(error_of(options_),
            path(kTestImages) + ": has 3 images, and " + path(kTestLabels) + " has 2 labels");
  write(kTestImages, idx_bytes({2, 3, 2}, std::string(12, '\x55')));
  EXPECT_EQ(error_of(options_), path(kTestImages) +
                                    ": its images have 3 x 2 pixels, and those of " +
                                    path(kImages) + " 2 x 3");
}

TEST_F(IdxDataTest, ALabelWithoutAClassIsAnError) {
  write(kTestLabels, idx_bytes({3}, "\x01\x03\x02"));
  EXPECT_EQ(error_of(options_), path(kTestLabels) +
                                    ": label 1, counted from 0, is 3, and the labels of training "
                                    "name only 3 classes");
  options_.class_names = "shirt coat";
  EXPECT_EQ(error_of(options_), path(kLabels) +
                                    ": label 0, counted from 0, is 2, and data.class_names names "
                                    "only 2 classes");
}

TEST_F(IdxDataTest, ADamagedFileIsNamedWithWhatIsWrong) {
  write(kImages, contents_of(path(kImages)).substr(0, 30));
  EXPECT_EQ(error_of(options_),
            path(kImages) + ": is truncated: its header says 4 x 2 x 3 bytes, and 14 follow it");
  write(kImages, idx_bytes({1, 1, 1000}, std::string(1000, 'a')));
  EXPECT_EQ(error_of(options_),
            path(kImages) + ": its images of 1 x 1000 pixels are too large: at most 512 x 512");
}

TEST_F(IdxDataTest, NamesOfClassesThatCannotBeUsedAreAMistake) {
  options_.class_names = "shirt";
  EXPECT_EQ(error_of(options_), "data.class_names must be 2 … 256 names, not 1");
  options_.class_names = "shirt coat shirt";
  EXPECT_EQ(error_of(options_),
            "data.class_names cannot be used: vocabulary: tokens 0 and 2 have the same text, "
            "\"shirt\"");
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

TEST(ShowImagesTest, EveryLineFitsATerminalHoweverLargeTheImages) {
  for (const int64_t size : {12, 39, 40, 80, 81, 200}) {
    const auto dataset = dataset_of(shapes(size));
    const std::string text = describe_examples(*dataset, Split::kValidation, 9);
    size_t longest = 0;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      longest = std::max(longest, line.size());
    }
    EXPECT_LE(longest, 80u) << size;
    EXPECT_GT(longest, 30u) << size;
  }
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
  ASSERT_EQ(image.width, 2 * 3 * scale + 3 * gap);
  ASSERT_EQ(image.height, 2 * 2 * scale + 3 * gap);
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

}  // namespace
}  // namespace qkv
