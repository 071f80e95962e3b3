// Images that are drawn.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_split.h"
#include "data/show_data.h"
#include "tests/data/rows.h"

namespace qkv {
namespace {

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

}  // namespace
}  // namespace qkv
