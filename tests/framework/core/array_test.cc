#include "framework/core/array.h"

#include <gtest/gtest.h>

#include "tests/framework/testing.h"

namespace qkv {
namespace {

using Values = std::vector<double>;

TEST(ArrayTest, HoldsItsValuesInEveryType) {
  const Values values = {1.5, 0, -2};
  EXPECT_EQ(Array::of({3}, DType::f32, values).to_vector(), values);
  EXPECT_EQ(Array::of({3}, DType::f64, values).to_vector(), values);
  EXPECT_EQ(Array::of({3}, DType::bf16, values).to_vector(), values);
  EXPECT_EQ(Array::of({3}, DType::i64, values).to_vector(), (Values{1, 0, -2}));
  EXPECT_EQ(Array::of({3}, DType::boolean, values).to_vector(), (Values{1, 0, 1}));
  EXPECT_EQ(Array::full({2}, DType::f32, 0.25).to_vector(), (Values{0.25, 0.25}));
}

TEST(ArrayTest, DescribesItself) {
  EXPECT_EQ(Array({4, 16, 64}, DType::f32).describe(), "f32[4, 16, 64]");
  EXPECT_EQ(Array({}, DType::boolean).describe(), "bool[]");
  EXPECT_EQ(Array({2}, DType::bf16).bytes(), 4u);
}

TEST(ArrayTest, ReshapedSharesStorageAndCopyDoesNot) {
  const Array x = Array::of({2, 3}, DType::f64, Values{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(x.reshaped({6}).raw(), x.raw());
  EXPECT_EQ(x.reshaped({6}).shape(), (Shape{6}));
  EXPECT_NE(x.copy().raw(), x.raw());
  EXPECT_EQ(x.copy().to_vector(), x.to_vector());
  EXPECT_EQ(error_of([&] { x.reshaped({4}); }), "reshape: f64[2, 3] has 6 elements and [4] has 4");
}

TEST(ArrayTest, WithoutStorageKeepsShapeAndType) {
  const Array x = Array({2, 3}, DType::f64).without_storage();
  EXPECT_FALSE(x.defined());
  EXPECT_EQ(x.describe(), "f64[2, 3]");
  EXPECT_EQ(error_of([&] { x.data<double>(); }), "array: f64[2, 3] holds no numbers");
}

TEST(ArrayTest, AnUndefinedArrayHasNoNumbers) {
  const Array undefined;
  EXPECT_EQ(undefined.raw(), nullptr);
  const std::string error = "array: f32[] holds no numbers";
  EXPECT_EQ(error_of([&] { undefined.data<float>(); }), error);
  EXPECT_EQ(error_of([&] { undefined.copy(); }), error);
  EXPECT_EQ(error_of([&] { undefined.to_vector(); }), error);
  EXPECT_EQ(error_of([&] { undefined.reshaped({1}); }), error);
  EXPECT_EQ(error_of([&] { Array().mutable_data<float>(); }), error);
  EXPECT_EQ(error_of([&] {
              Array({2, 3}, DType::f64).without_storage().copy();
            }),
            "array: f64[2, 3] holds no numbers");
}

TEST(ArrayTest, HoldsNoIndexThatIsNoNumber) {
  for (const double value : {0x1p63, -0x1.1p63, 1.0 / 0.0}) {
    EXPECT_NE(error_of([=] { Array::full({2}, DType::i64, value); }), "");
  }
  EXPECT_EQ(error_of([] { Array::full({2}, DType::i64, 0.0 / 0.0); }),
            "array: i64 does not hold nan");
  EXPECT_EQ(error_of([] {
              Array::of({2}, DType::i64, Values{1, 1e300});
            }),
            "array: i64 does not hold 1e+300");
  EXPECT_EQ(Array::full({1}, DType::i64, -0x1p63).to_vector(), (Values{-0x1p63}));
}

TEST(ArrayTest, ReadingAnotherTypeIsAnError) {
  EXPECT_EQ(error_of([] { Array({2}, DType::f32).data<double>(); }), "array: f32[2] read as f64");
}

TEST(ArrayTest, ValuesMustFillTheShape) {
  EXPECT_EQ(error_of([] {
              Array::of({2, 2}, DType::f32, Values{1, 2, 3});
            }),
            "array: 3 values do not fill shape [2, 2]");
}

}  // namespace
}  // namespace qkv
