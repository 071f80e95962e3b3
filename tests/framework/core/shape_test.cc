#include "framework/core/shape.h"

#include <gtest/gtest.h>

#include "tests/framework/testing.h"

namespace qkv {
namespace {

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ((Shape{4, 16, 64}).size(), 4096);
  EXPECT_EQ(Shape().size(), 1);
  EXPECT_EQ((Shape{3, 0}).size(), 0);
}

TEST(ShapeTest, AxesCountFromTheEndToo) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(shape[-3], shape[0]);
  EXPECT_EQ(error_of([&] { (void)shape[3]; }), "axis 3 is out of range for shape [2, 3, 4]");
  EXPECT_EQ(error_of([&] { (void)shape[-4]; }), "axis -4 is out of range for shape [2, 3, 4]");
}

TEST(ShapeTest, CopiesWithOneAxisChanged) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape.with(1, 7), (Shape{2, 7, 4}));
  EXPECT_EQ(shape.without(-1), (Shape{2, 3}));
  EXPECT_EQ(shape.without(0), (Shape{3, 4}));
  EXPECT_EQ(shape.inserted(0, 9), (Shape{9, 2, 3, 4}));
  EXPECT_EQ(shape.inserted(3, 9), (Shape{2, 3, 4, 9}));
  EXPECT_EQ(shape.inserted(-1, 9), (Shape{2, 3, 4, 9}));
  EXPECT_EQ(error_of([&] { shape.inserted(4, 9); }),
            "shape: cannot insert an axis at 4 into [2, 3, 4]");
  EXPECT_EQ(error_of([&] { shape.inserted(-5, 9); }),
            "shape: cannot insert an axis at -5 into [2, 3, 4]");
  EXPECT_NE(shape, (Shape{2, 3}));
}

TEST(ShapeTest, RefusesWhatNoArrayCanHave) {
  EXPECT_EQ(error_of([] { Shape{2, -1}; }), "shape: size -1 is negative");
  EXPECT_EQ(error_of([] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }),
            "shape: rank 9 is above the limit of 8");
}

TEST(ShapeTest, NothingComputedFromItOverflows) {
  constexpr int64_t kMost = Shape::kMaxSize, kLarge = int64_t{1} << 32;
  EXPECT_EQ((Shape{kMost}).size(), kMost);
  EXPECT_LE(kMost, std::numeric_limits<int64_t>::max() / static_cast<int64_t>(sizeof(double)));
  EXPECT_EQ(error_of([] { Shape{kMost + 1}; }),
            "shape: [1152921504606846976] is above the limit of 1152921504606846975 elements");
  EXPECT_EQ(error_of([] {
              Shape{kLarge, kLarge};
            }),
            "shape: [4294967296, 4294967296] is above the limit of 1152921504606846975 elements");
  EXPECT_EQ(error_of([] {
              Shape({kLarge, 1}).with(1, kLarge, "pad");
            }),
            "pad: [4294967296, 4294967296] is above the limit of 1152921504606846975 elements");
  EXPECT_NE(error_of([] { Shape({kLarge}).inserted(0, kLarge); }), "");
  EXPECT_NE(error_of([] { broadcast_shapes("add", {kLarge, 1}, {kLarge}); }), "");
  // A size of 0 hides no overflow, wherever it stands.
  EXPECT_EQ((Shape{0, kMost}).size(), 0);
  for (const int64_t one : {kLarge, int64_t{0}}) {
    for (const int64_t other : {kLarge, int64_t{0}}) {
      EXPECT_NE(error_of([=] { Shape{one, kLarge, other, kLarge}; }), "");
    }
  }
  EXPECT_EQ(error_of([] {
              Shape({1, 1, 1, 1, 1, 1, 1, 1}).inserted(0, 1, "stack");
            }),
            "stack: rank 9 is above the limit of 8");
}

TEST(BroadcastTest, AlignsAtTheRightAndStretchesOnes) {
  EXPECT_EQ(broadcast_shapes("add", {2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast_shapes("add", {}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes("add", {2, 0}, {1}), (Shape{2, 0}));
}

TEST(BroadcastTest, NamesTheSizesThatClash) {
  EXPECT_EQ(error_of([] {
              broadcast_shapes("add", {2, 3, 4}, {5, 4});
            }),
            "add: shapes do not broadcast: a [2, 3, 4], b [5, 4]: sizes 3 and 5 at axis -2");
  EXPECT_EQ(error_of([] { broadcast_shapes("add", {0}, {2}); }),
            "add: shapes do not broadcast: a [0], b [2]: sizes 0 and 2 at axis -1");
}

}  // namespace
}  // namespace qkv
