#include <map>
#include <set>
#include <vector>

#include "framework/kernels/product/matrix_product.h"
#include "gtest/gtest.h"

namespace qkv::kernels {
namespace {

// Where each element stands, in the order (n, i, j).
std::vector<int64_t> places(const Matrices& x) {
  std::vector<int64_t> result;
  for (int64_t n = 0; n < x.batch; ++n) {
    for (int64_t i = 0; i < x.rows; ++i) {
      for (int64_t j = 0; j < x.columns; ++j) {
        result.push_back(n * x.batch_stride + i * x.row_stride + j * x.column_stride);
      }
    }
  }
  return result;
}

// Sizes and strides in all combinations: also such as no array has.
std::vector<Matrices> descriptions() {
  std::vector<Matrices> result;
  for (const int64_t batch : {1, 3}) {
    for (const int64_t rows : {1, 2, 9}) {
      for (const int64_t columns : {1, 2, 9}) {
        for (const int64_t batch_stride : {1, 9, 18, 81, 1000}) {
          for (const int64_t row_stride : {1, 2, 9, 17}) {
            for (const int64_t column_stride : {1, 2, 9, 17}) {
              result.push_back(
                  {DType::f32, batch, rows, columns, batch_stride, row_stride, column_stride});
            }
          }
        }
      }
    }
  }
  return result;
}

TEST(Canonical, KeepsEveryElementWhereItIs) {
  for (const Matrices& x : descriptions()) {
    EXPECT_EQ(places(canonical(x)), places(x));
    EXPECT_EQ(canonical(x).extent(), x.extent());
  }
}

TEST(Canonical, IsOneForAllDescriptionsOfTheSameMatrices) {
  using Size = std::vector<int64_t>;
  std::map<std::pair<Size, std::vector<int64_t>>, std::set<Matrices>> forms;
  for (const Matrices& x : descriptions()) {
    forms[{Size{x.batch, x.rows, x.columns}, places(x)}].insert(canonical(x));
  }
  EXPECT_LT(forms.size(), descriptions().size());
  for (const auto& [matrices, all] : forms) EXPECT_EQ(all.size(), 1u);
}

}  // namespace
}  // namespace qkv::kernels
