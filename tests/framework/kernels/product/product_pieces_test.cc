#include <map>
#include <set>
#include <string>
#include <vector>

#include "framework/kernels/product/matrix_product.h"
#include "gtest/gtest.h"

namespace qkv::kernels {
namespace {

using Cut = Pieces::Cut;

Matrices matrices(DType dtype, int64_t batch, int64_t rows, int64_t columns, bool transposed) {
  return {
      dtype, batch, rows, columns, rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
}

std::vector<MatrixProduct> products() {
  std::vector<MatrixProduct> result;
  for (const int64_t batch : {1, 3, 20}) {
    for (const int64_t m : {1, 32, 193, 900, 4097}) {
      for (const int64_t k : {1, 48, 1500, 9000}) {
        for (const int64_t l : {1, 64, 193, 897, 5000}) {
          for (const int flags : {0, 1, 2, 3, 4, 5, 6, 7}) {
            MatrixProduct p = {
                .a = matrices(DType::bf16, flags & 4 ? 1 : batch, m, k, (flags & 1) != 0),
                .b = matrices(DType::bf16, batch, k, l, (flags & 2) != 0),
                .c = matrices(DType::f32, batch, m, l, false),
                .bias = {}};
            if (flags & 2) p.bias = matrices(DType::f32, 1, 1, l, false);
            result.push_back(canonical(p));
          }
        }
      }
    }
  }
  return result;
}

std::string describe(const MatrixProduct& p) {
  std::string text;
  for (const Matrices& x : {p.a, p.b}) {
    for (const int64_t number : {x.batch, x.rows, x.columns, x.row_stride, x.column_stride}) {
      text += std::to_string(number) + " ";
    }
    text += "; ";
  }
  return text;
}

// The place of the first element and of the last.
struct Ends {
  int64_t first, last;
  bool operator==(const Ends&) const = default;
};
Ends ends(const Matrices& x, int64_t begin) { return {begin, begin + x.extent() - 1}; }
// Those of the part of a matrix that begins at an element.
Ends ends_of_part(const Matrices& whole, int64_t n, int64_t i, int64_t j, const Matrices& part) {
  return ends(Matrices{whole.dtype, part.batch, part.rows, part.columns, whole.batch_stride,
                       whole.row_stride, whole.column_stride},
              n * whole.batch_stride + i * whole.row_stride + j * whole.column_stride);
}

TEST(ProductPieces, AreThePartsOfTheMatricesOneAfterTheOther) {
  for (const MatrixProduct& whole : products()) {
    SCOPED_TRACE(describe(whole));
    const Pieces pieces = cut(whole);
    int64_t done = 0;
    for (int64_t number = 0; number < pieces.count(); ++number) {
      const Piece piece = piece_of(whole, pieces, number);
      const MatrixProduct& p = piece.product;
      const auto at = [&](Cut cut) { return pieces.cut == cut ? done : 0; };
      const int64_t n = at(Cut::batch), i = at(Cut::rows), j = at(Cut::columns), k = at(Cut::depth);
      EXPECT_EQ(ends(p.a, piece.a), ends_of_part(whole.a, whole.a.batch > 1 ? n : 0, i, k, p.a));
      EXPECT_EQ(ends(p.b, piece.b), ends_of_part(whole.b, whole.b.batch > 1 ? n : 0, k, j, p.b));
      EXPECT_EQ(ends(p.c, piece.c),
                ends_of_part(whole.c, pieces.cut == Cut::depth ? number : n, i, j, p.c));
      if (p.bias) {
        EXPECT_EQ(ends(*p.bias, piece.bias), ends_of_part(*whole.bias, 0, 0, j, *p.bias));
      }
      EXPECT_EQ(p.a.rows, p.c.rows);
      EXPECT_EQ(p.a.columns, p.b.rows);
      EXPECT_EQ(p.b.columns, p.c.columns);
      const int64_t length = pieces.cut == Cut::batch     ? p.c.batch
                             : pieces.cut == Cut::rows    ? p.c.rows
                             : pieces.cut == Cut::columns ? p.c.columns
                                                          : p.a.columns;
      EXPECT_TRUE(length == pieces.length || number == pieces.count() - 1);
      done += length;
    }
    EXPECT_EQ(done, pieces.size);
  }
}

TEST(ProductPieces, EverySizeIsCutForSomeProduct) {
  for (const Cut cut_by : {Cut::batch, Cut::rows, Cut::columns, Cut::depth}) {
    bool found = false;
    for (const MatrixProduct& p : products()) {
      const Pieces pieces = cut(p);
      found |= pieces.cut == cut_by && pieces.count() > 1;
    }
    EXPECT_TRUE(found) << static_cast<int>(cut_by);
  }
}

TEST(ProductPieces, NoneIsASingleRowOrColumnOfALargerMatrix) {
  for (const MatrixProduct& whole : products()) {
    SCOPED_TRACE(describe(whole));
    const Pieces pieces = cut(whole);
    const MatrixProduct last = piece_of(whole, pieces, pieces.count() - 1).product;
    EXPECT_TRUE(last.c.rows > 1 || whole.c.rows == 1);
    EXPECT_TRUE(last.c.columns > 1 || whole.c.columns == 1);
    // Nor does b consist of single rows of several larger matrices.
    EXPECT_TRUE(last.b.rows > 1 || last.b.batch == 1 || last.b.columns == whole.b.columns);
  }
}

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
