#include "framework/kernels/product/library_check.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/kernels/elementwise/convert.h"
#include "gtest/gtest.h"

namespace qkv::kernels {
namespace {

struct Element {
  int64_t matrix, row, column;
};

int64_t place(const Matrices& x, Element e) {
  return (x.batch == 1 ? 0 : e.matrix) * x.batch_stride + e.row * x.row_stride +
         e.column * x.column_stride;
}

// The definition of a product, with what a mistake may replace.
struct Multiplication {
  MatrixProduct p;
  // How it reads the operands.
  Matrices a = p.a, b = p.b;
  int64_t terms = p.a.columns;
  bool adds_bias = true;
  // What it writes for a sum, if anything, and where.
  std::function<std::optional<float>(Element, float)> result = [](Element, float sum) {
    return sum;
  };
  std::function<Element(Element)> target = [](Element e) { return e; };
  bool writes_on = false;  // behind the last element

  bool passes() const {
    const auto multiply = [this](const void* x, const void* y, const void* bias, void* z) {
      dispatch_stored("", p.a.dtype, [&]<class T>(T) {
        dispatch_stored("", p.c.dtype, [&]<class U>(U) {
          compute(static_cast<const T*>(x), static_cast<const T*>(y),
                  static_cast<const float*>(bias), static_cast<U*>(z));
        });
      });
    };
    return multiplies_rightly(p, multiply);
  }

 private:
  // In f32, from the last term to the first: an order as good as any.
  template <class T, class U>
  void compute(const T* x, const T* y, const float* bias, U* z) const {
    for (int64_t n = 0; n < p.c.batch; ++n) {
      for (int64_t i = 0; i < p.c.rows; ++i) {
        for (int64_t j = 0; j < p.c.columns; ++j) {
          float sum = 0;
          for (int64_t k = terms; k-- > 0;) {
            sum += convert<float>(x[place(a, {n, i, k})]) * convert<float>(y[place(b, {n, k, j})]);
          }
          if (bias && adds_bias) sum += bias[j];
          const auto value = result({n, i, j}, sum);
          if (value) z[place(p.c, target({n, i, j}))] = convert<U>(*value);
        }
      }
    }
    if (writes_on) z[p.c.extent()] = convert<U>(0.0f);
  }
};

Matrices dense(DType dtype, int64_t batch, int64_t rows, int64_t columns) {
  return {dtype, batch, rows, columns, rows * columns, columns, 1};
}
Matrices transposed(DType dtype, int64_t batch, int64_t rows, int64_t columns) {
  return {dtype, batch, rows, columns, rows * columns, 1, rows};
}
// The left columns of a wider matrix.
Matrices cut_out(DType dtype, int64_t batch, int64_t rows, int64_t columns) {
  return {dtype, batch, rows, columns, rows * (columns + 5), columns + 5, 1};
}

std::string described(const MatrixProduct& p) {
  std::string text;
  for (const Matrices& x : {p.a, p.b, p.c}) {
    text += std::string(dtype_name(x.dtype));
    for (const int64_t number : {x.batch, x.rows, x.columns, x.row_stride}) {
      text += " " + std::to_string(number);
    }
    text += "; ";
  }
  return text + (p.bias ? "bias" : "no bias");
}

std::vector<MatrixProduct> checked_products() {
  std::vector<MatrixProduct> result;
  for (const auto& [operands, sums] :
       {std::pair{DType::f32, DType::f32}, {DType::bf16, DType::f32}, {DType::bf16, DType::bf16}}) {
    for (const auto& [batch_a, batch_b] : {std::pair{1, 1}, {3, 3}, {3, 1}, {1, 3}}) {
      for (const auto& [m, k, l] :
           {std::tuple{1, 1, 1}, {1, 9, 17}, {33, 1, 2}, {5, 7, 1}, {2, 200, 3}, {20, 20, 30}}) {
        for (const auto layout : {dense, transposed, cut_out}) {
          MatrixProduct p = {.a = layout(operands, batch_a, m, k),
                             .b = layout(operands, batch_b, k, l),
                             .c = layout(sums, std::max(batch_a, batch_b), m, l),
                             .bias = {}};
          result.push_back(p);
          p.bias = dense(DType::f32, 1, 1, l);
          result.push_back(p);
        }
      }
    }
  }
  return result;
}

// Changes a multiplication; false where it cannot be wrong in this way.
struct Mistake {
  const char* name;
  std::function<bool(Multiplication&)> plant;
};

int64_t exchanged(int64_t i) { return i < 2 ? 1 - i : i; }

// The element in the middle of the last matrix.
bool is_middle(const MatrixProduct& p, Element e) {
  return e.matrix == p.c.batch - 1 && e.row == p.c.rows / 2 && e.column == p.c.columns / 2;
}

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> list = {
      {"the first matrix of a serves all",
       [](Multiplication& m) {
         m.a.batch_stride = 0;
         return m.a.batch > 1;
       }},
      {"the first matrix of b serves all",
       [](Multiplication& m) {
         m.b.batch_stride = 0;
         return m.b.batch > 1;
       }},
      {"the next matrix of a begins one element after the last",  // oneDNN 3.7, AMX: {9, 1, 1}
       [](Multiplication& m) {
         const bool differs = m.a.batch_stride != 1;
         m.a.batch_stride = 1;
         return m.a.batch > 1 && differs;
       }},
      {"a is taken for its transpose",
       [](Multiplication& m) {
         std::swap(m.a.row_stride, m.a.column_stride);
         return m.a.rows == m.a.columns && m.a.rows > 1;
       }},
      {"the last term is missing",
       [](Multiplication& m) {
         --m.terms;
         return true;
       }},
      {"the bias is missing",
       [](Multiplication& m) {
         m.adds_bias = false;
         return m.p.bias.has_value();
       }},
      {"one element is 1 too large",
       [](Multiplication& m) {
         m.result = [p = m.p](Element e, float sum) { return is_middle(p, e) ? sum + 1 : sum; };
         return true;
       }},
      {"one element is not written",
       [](Multiplication& m) {
         m.result = [p = m.p](Element e, float sum) {
           return is_middle(p, e) ? std::nullopt : std::optional(sum);
         };
         return true;
       }},
      {"what stood there before is added",
       [](Multiplication& m) {
         m.result = [](Element, float) { return std::numeric_limits<float>::quiet_NaN(); };
         return true;
       }},
      {"two matrices are exchanged",
       [](Multiplication& m) {
         m.target = [](Element e) { return Element{exchanged(e.matrix), e.row, e.column}; };
         return m.p.c.batch > 1;
       }},
      {"two rows are exchanged",
       [](Multiplication& m) {
         m.target = [](Element e) { return Element{e.matrix, exchanged(e.row), e.column}; };
         return m.p.c.rows > 1;
       }},
      {"two columns are exchanged",
       [](Multiplication& m) {
         m.target = [](Element e) { return Element{e.matrix, e.row, exchanged(e.column)}; };
         return m.p.c.columns > 1;
       }},
      {"an element beside the last column is written",
       [](Multiplication& m) {
         m.target = [p = m.p](Element e) {
           return Element{e.matrix, e.row, e.column == p.c.columns - 1 ? p.c.columns : e.column};
         };
         return m.p.c.row_stride > m.p.c.columns;
       }},
      {"an element behind the last one is written",
       [](Multiplication& m) {
         m.writes_on = true;
         return true;
       }},
  };
  return list;
}

TEST(MultipliesRightly, IsTrueOfTheDefinition) {
  for (const MatrixProduct& p : checked_products())
    EXPECT_TRUE(Multiplication{p}.passes()) << described(p);
}

TEST(MultipliesRightly, IsTrueOfLongSums) {
  for (const int64_t k : {3000, 100000}) {
    for (const DType sums : {DType::f32, DType::bf16}) {
      const MatrixProduct p = {.a = dense(DType::bf16, 1, 2, k),
                               .b = transposed(DType::bf16, 1, k, 5),
                               .c = dense(sums, 1, 2, 5),
                               .bias = {}};
      EXPECT_TRUE(Multiplication{p}.passes()) << described(p);
      Multiplication wrong{p};
      wrong.terms = k / 2;
      EXPECT_FALSE(wrong.passes()) << described(p);
    }
  }
}

TEST(MultipliesRightly, IsFalseOfEveryMistake) {
  for (const Mistake& mistake : mistakes()) {
    int64_t planted = 0;
    for (const MatrixProduct& p : checked_products()) {
      Multiplication m{p};
      if (!mistake.plant(m)) continue;
      ++planted;
      EXPECT_FALSE(m.passes()) << mistake.name << ": " << described(p);
    }
    EXPECT_GT(planted, 0) << mistake.name;
  }
}

}  // namespace
}  // namespace qkv::kernels
