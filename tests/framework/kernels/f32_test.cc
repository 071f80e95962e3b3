// The kernels in f32 against their formulas in f64, on random shapes: odd, 1, empty, and large
// enough to be shared among threads. The tolerance of every element is derived (rounded.h).

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "framework/kernels/elementwise.h"
#include "framework/kernels/index.h"
#include "framework/kernels/matmul.h"
#include "framework/kernels/norm.h"
#include "framework/kernels/random.h"
#include "framework/kernels/reduce.h"
#include "framework/kernels/softmax.h"
#include "tests/framework/kernels/rounded.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

using Numbers = std::vector<double>;
using Expected = std::vector<Rounded>;

Array f32(const Shape& shape, uint64_t seed) { return as(DType::f32, normal(shape, seed)); }
Array empty_f32(const Shape& shape) { return Array(shape, DType::f32); }

// How many elements are farther from what is expected than rounding explains.
int64_t outside(const Array& actual, const Expected& expected) {
  const Numbers a = actual.to_vector();
  EXPECT_EQ(a.size(), expected.size());
  int64_t count = 0;
  for (size_t i = 0; i < a.size() && i < expected.size(); ++i) {
    if (std::abs(a[i] - expected[i].value) <= expected[i].error) continue;  // a NaN goes on
    if (count++ == 0) {
      ADD_FAILURE() << actual.describe() << ", element " << i << ": " << a[i] << " and not "
                    << expected[i].value << " ± " << expected[i].error;
    }
  }
  return count;
}

int64_t outside_quietly(const Array& actual, const Expected& expected) {
  const Numbers a = actual.to_vector();
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    count += !(std::abs(a[i] - expected[i].value) <= expected[i].error);
  }
  return count;
}

// Shapes of a few axes: sizes around the widths of vectors and of lanes, 0 and 1 among them; the
// last shapes are large.
std::vector<Shape> shapes(int rank, uint64_t seed) {
  constexpr int64_t kSizes[] = {0, 1, 2, 3, 5, 7, 16, 17, 31, 33, 64, 65, 127, 130};
  RandomStream stream(seed);
  std::vector<Shape> result;
  for (int i = 0; i < 24; ++i) {
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t size = kSizes[stream.below(std::size(kSizes))];
      const int64_t small = rank > 2 ? std::min<int64_t>(size, 33) : size;
      shape = shape.inserted(0, small);
    }
    result.push_back(shape);
  }
  if (rank == 1) result.insert(result.end(), {{70001}, {1}, {0}});
  if (rank == 2) result.insert(result.end(), {{999, 67}, {3, 3001}, {20001, 3}, {1, 1}});
  if (rank == 3) result.insert(result.end(), {{5, 301, 67}, {301, 67, 5}, {2, 2000, 33}});
  return result;
}

Expected mapped(const Array& x, const std::function<Rounded(Rounded)>& f) {
  Expected result;
  for (const double v : x.to_vector()) result.push_back(f(v));
  return result;
}

Expected mapped(const Array& x, const Array& y, const std::function<Rounded(Rounded, Rounded)>& f) {
  const Numbers a = x.to_vector(), b = y.to_vector();
  Expected result;
  for (size_t i = 0; i < a.size(); ++i) result.push_back(f(a[i], b[i]));
  return result;
}

Array positive(const Array& x) {
  Numbers values = x.to_vector();
  for (double& v : values) v = static_cast<float>(v * v + 0.125);
  return Array::of(x.shape(), DType::f32, values);
}

// The constants of the kernels in f32 are rounded once.
Rounded constant(double value) { return {value, kUnit * std::abs(value)}; }

Rounded inner_of_gelu(Rounded x) {
  return constant(0.79788456080286535588) * (x + constant(0.044715) * x * x * x);
}
Rounded normal_density(Rounded x) {
  return exp(Rounded(-0.5) * x * x) * constant(0.39894228040143267794);
}

struct UnaryCase {
  Unary kernel;
  bool needs_positive;
  std::function<Rounded(Rounded)> formula;
  std::function<Rounded(Rounded)> derivative;  // of the activations
};

const std::vector<UnaryCase>& unaries() {
  using R = Rounded;
  static const auto& list = *new std::vector<UnaryCase>{
      {Unary::neg, false, [](R x) { return -x; }, nullptr},
      {Unary::exp, false, [](R x) { return exp(x); }, nullptr},
      {Unary::log, true, [](R x) { return log(x); }, nullptr},
      {Unary::sqrt, true, [](R x) { return sqrt(x); }, nullptr},
      {Unary::rsqrt, true, [](R x) { return R(1) / sqrt(x); }, nullptr},
      {Unary::tanh, false, [](R x) { return tanh(x); },
       [](R x) { return R(1) - tanh(x) * tanh(x); }},
      {Unary::sigmoid, false, [](R x) { return sigmoid(x); },
       [](R x) { return sigmoid(x) * (R(1) - sigmoid(x)); }},
      {Unary::relu, false, [](R x) { return x.value > 0 ? x : R(0); },
       [](R x) { return x.value > 0 ? R(1) : R(0); }},
      {Unary::erf, false, [](R x) { return erf(x); }, nullptr},
      {Unary::gelu_erf, false, [](R x) { return x * normal_cdf(x); },
       [](R x) { return normal_cdf(x) + x * normal_density(x); }},
      {Unary::gelu_tanh, false, [](R x) { return R(0.5) * x * (R(1) + tanh(inner_of_gelu(x))); },
       [](R x) {
         const R t = tanh(inner_of_gelu(x));
         const R slope =
             constant(0.79788456080286535588) * (R(1) + R(3) * constant(0.044715) * x * x);
         return R(0.5) * ((R(1) + t) + x * (R(1) - t * t) * slope);
       }},
      {Unary::silu, false, [](R x) { return x * sigmoid(x); },
       [](R x) {
         const R s = sigmoid(x);
         return s * (R(1) + x * (R(1) - s));
       }},
  };
  return list;
}

TEST(F32, UnariesAndTheirDerivativesAreWithinRounding) {
  for (const UnaryCase& f : unaries()) {
    for (const Shape& shape : shapes(1, 1)) {
      SCOPED_TRACE(static_cast<int>(f.kernel));
      Array x = f32(shape, 2);
      if (f.needs_positive) x = positive(x);
      const Array dy = f32(shape, 3);
      Array y = empty_f32(shape);
      unary(f.kernel, x, y);
      EXPECT_EQ(outside(y, mapped(x, f.formula)), 0);
      if (!f.derivative) continue;
      unary_backward(f.kernel, x, dy, y);
      EXPECT_EQ(
          outside(y, mapped(x, dy, [&](Rounded v, Rounded d) { return d * f.derivative(v); })), 0);
    }
  }
}

TEST(F32, BinariesAndScalarsAreWithinRounding) {
  const std::pair<Binary, std::function<Rounded(Rounded, Rounded)>> binaries[] = {
      {Binary::add, [](Rounded a, Rounded b) { return a + b; }},
      {Binary::sub, [](Rounded a, Rounded b) { return a - b; }},
      {Binary::mul, [](Rounded a, Rounded b) { return a * b; }},
      {Binary::div, [](Rounded a, Rounded b) { return a / b; }},
      {Binary::pow,  // two units: the C library promises no more than one in the last place
       [](Rounded a, Rounded b) { return rounded(std::pow(a.value, b.value), 0.0, 2 * kUnit); }},
      {Binary::maximum, [](Rounded a, Rounded b) { return a.value > b.value ? a : b; }},
  };
  for (const Shape& shape : shapes(1, 4)) {
    const Array a = positive(f32(shape, 5)), b = f32(shape, 6);
    Array y = empty_f32(shape);
    for (const auto& [f, formula] : binaries) {
      SCOPED_TRACE(static_cast<int>(f));
      binary(f, a, b, y);
      EXPECT_EQ(outside(y, mapped(a, b, formula)), 0);
    }
    scale(b, -1.7, y);
    EXPECT_EQ(outside(y, mapped(b, [](Rounded v) { return v * constant(-1.7); })), 0);
    add_scalar(b, 0.3, y);
    EXPECT_EQ(outside(y, mapped(b, [](Rounded v) { return v + constant(0.3); })), 0);
    pow_scalar(b, 3.0, y);
    EXPECT_EQ(outside(y, mapped(b, [](Rounded v) { return v * v * v; })), 0);
  }
}

TEST(F32, SumsAreWithinTheBoundOfTheirLength) {
  for (const Shape& shape : shapes(3, 7)) {
    const int64_t outer = shape[0], n = shape[1], inner = shape[2];
    const Array x = f32(shape, 8);
    Array y = empty_f32({outer, inner});
    sum(x, outer, n, inner, y);
    const float* in = x.data<float>();
    Expected expected;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t j = 0; j < inner; ++j) {
        expected.push_back(sum(n, [&](int64_t k) { return Rounded(in[(o * n + k) * inner + j]); }));
      }
    }
    EXPECT_EQ(outside(y, expected), 0) << shape.to_string();
  }
  const Array x = f32({70001}, 9);
  Array y = empty_f32({});
  sum(x, 1, 70001, 1, y);
  EXPECT_EQ(outside(y, {sum(70001, [&](int64_t k) { return Rounded(x.data<float>()[k]); })}), 0);
}

TEST(F32, MatrixProductsAreWithinTheBoundOfTheirLength) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      std::vector<Shape> all = shapes(3, ta ? 10 : 11);  // M, K, N
      all.resize(12);
      all.insert(all.end(), {{130, 67, 129}, {1, 1000, 3}, {200, 1, 7}, {3, 0, 5}});
      for (const Shape& shape : all) {
        const int64_t m = shape[0], k = shape[1], n = shape[2];
        const Array a = f32(ta ? Shape{2, k, m} : Shape{2, m, k}, 12);
        const Array b = f32(tb ? Shape{2, n, k} : Shape{2, k, n}, 13), bias = f32({n}, 14);
        Array c = empty_f32({2, m, n});
        matmul(a, b, ta, tb, &bias, c);
        const auto left = [&](int64_t batch, int64_t i, int64_t l) {
          return Rounded(a.data<float>()[batch * m * k + (ta ? l * m + i : i * k + l)]);
        };
        const auto right = [&](int64_t batch, int64_t l, int64_t j) {
          return Rounded(b.data<float>()[batch * k * n + (tb ? j * k + l : l * n + j)]);
        };
        Expected expected;
        for (int64_t batch = 0; batch < 2; ++batch) {
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              expected.push_back(sum(k + 1, [&](int64_t l) {
                return l == k ? Rounded(bias.data<float>()[j])
                              : left(batch, i, l) * right(batch, l, j);
              }));
            }
          }
        }
        EXPECT_EQ(outside(c, expected), 0) << shape.to_string() << ta << tb;
      }
    }
  }
}

// Of a row x[0 … n - 1]: exp(x - shift), with the largest for shift, and the sum of them.
struct RowOfExps {
  double shift;
  std::vector<Rounded> exps;
  Rounded total;
};
RowOfExps exps_of(const float* x, int64_t n) {
  RowOfExps row;
  row.shift = *std::max_element(x, x + n);
  for (int64_t i = 0; i < n; ++i) row.exps.push_back(exp(Rounded(x[i]) - Rounded(row.shift)));
  row.total = sum(n, [&](int64_t i) { return row.exps[static_cast<size_t>(i)]; });
  return row;
}

TEST(F32, SoftmaxesAreWithinRounding) {
  for (const Shape& shape : shapes(2, 15)) {
    const int64_t n = shape[1], rows = n == 0 ? 0 : shape[0];
    const Array x = f32(shape, 16), dy = f32(shape, 17);
    Array p = empty_f32(shape), log_p = empty_f32(shape);
    Array dx = empty_f32(shape), dlog = empty_f32(shape);
    softmax(x, p);
    softmax_backward(p, dy, dx);
    log_softmax(x, log_p);
    log_softmax_backward(log_p, dy, dlog);
    Expected e_p, e_dx, e_log, e_dlog;
    for (int64_t r = 0; r < rows; ++r) {
      const float* xr = x.data<float>() + r * n;
      const float* d = dy.data<float>() + r * n;
      const float* pr = p.data<float>() + r * n;
      const float* lr = log_p.data<float>() + r * n;
      const RowOfExps row = exps_of(xr, n);
      const Rounded inverse = Rounded(1) / row.total;
      const Rounded dot = sum(n, [&](int64_t i) { return Rounded(pr[i]) * Rounded(d[i]); });
      const Rounded total = sum(n, [&](int64_t i) { return Rounded(d[i]); });
      for (int64_t i = 0; i < n; ++i) {
        e_p.push_back(row.exps[static_cast<size_t>(i)] * inverse);
        e_dx.push_back(Rounded(pr[i]) * (Rounded(d[i]) - dot));
        e_log.push_back((Rounded(xr[i]) - Rounded(row.shift)) - log(row.total));
        e_dlog.push_back(Rounded(d[i]) - exp(Rounded(lr[i])) * total);
      }
    }
    EXPECT_EQ(outside(p, e_p) + outside(dx, e_dx), 0) << shape.to_string();
    EXPECT_EQ(outside(log_p, e_log) + outside(dlog, e_dlog), 0) << shape.to_string();
  }
}

TEST(F32, CrossEntropyIsWithinRounding) {
  for (const Shape& shape : shapes(2, 18)) {
    const int64_t rows = shape[0], n = shape[1];
    if (n == 0) continue;  // no class to aim at
    const Array x = f32(shape, 19), dloss = f32({rows}, 20);
    std::vector<int64_t> targets;
    for (int64_t r = 0; r < rows; ++r) targets.push_back(r % 5 == 4 ? -1 : r % n);
    const Array t = Array::of({rows}, targets);
    for (const double s : {0.0, 0.125}) {
      Array loss = empty_f32({rows}), lse = empty_f32({rows}), dx = empty_f32(shape);
      cross_entropy(x, t, -1, s, loss, lse);
      cross_entropy_backward(x, t, lse, -1, s, dloss, dx);
      Expected e_loss, e_dx;
      const Rounded spread = constant(s / static_cast<double>(n));
      for (int64_t r = 0; r < rows; ++r) {
        const float* xr = x.data<float>() + r * n;
        const int64_t target = targets[static_cast<size_t>(r)];
        const RowOfExps row = exps_of(xr, n);
        const auto shifted = [&](int64_t i) { return Rounded(xr[i]) - Rounded(row.shift); };
        const Rounded d = dloss.data<float>()[r];
        for (int64_t i = 0; i < n; ++i) {
          const Rounded p = exp(Rounded(xr[i]) - Rounded(lse.data<float>()[r]));
          const Rounded hot = i == target ? Rounded(1 - s) * d : Rounded(0);
          e_dx.push_back(target < 0 ? Rounded(0) : (p - spread) * d - hot);
        }
        if (target < 0) {
          e_loss.push_back(0);
          continue;
        }
        const Rounded aimed = Rounded(1 - s) * shifted(target) + Rounded(s) * mean(n, shifted);
        e_loss.push_back(log(row.total) - aimed);
      }
      EXPECT_EQ(outside(loss, e_loss) + outside(dx, e_dx), 0) << shape.to_string() << " " << s;
    }
  }
}

TEST(F32, NormsAreWithinRounding) {
  constexpr double kEpsilon = 0x1p-10;
  for (const Shape& shape : shapes(2, 21)) {
    const int64_t n = shape[1], rows = n == 0 ? 0 : shape[0];
    const Array x = f32(shape, 22), w = f32({n}, 23), b = f32({n}, 24), dy = f32(shape, 25);
    Array y = empty_f32(shape), center = empty_f32({shape[0]}), rstd = empty_f32({shape[0]});
    Array y_rms = empty_f32(shape), rstd_rms = empty_f32({shape[0]});
    layer_norm(x, w, b, kEpsilon, y, center, rstd);
    rms_norm(x, w, kEpsilon, y_rms, rstd_rms);
    Array dx = empty_f32(shape), dw = empty_f32({n}), db = empty_f32({n});
    Array dx_rms = empty_f32(shape), dw_rms = empty_f32({n});
    layer_norm_backward(x, w, center, rstd, dy, dx, dw, db);
    rms_norm_backward(x, w, rstd_rms, dy, dx_rms, dw_rms);
    // The backwards are checked at the mean and rstd that they were given.
    const auto at = [](const Array& array, int64_t i) { return Rounded(array.data<float>()[i]); };
    const auto x_hat = [&](int64_t r, int64_t i) {
      return (at(x, r * n + i) - at(center, r)) * at(rstd, r);
    };
    const auto x_hat_rms = [&](int64_t r, int64_t i) { return at(x, r * n + i) * at(rstd_rms, r); };
    const auto d_hat = [&](int64_t r, int64_t i) { return at(dy, r * n + i) * at(w, i); };
    Expected e_y, e_dx, e_y_rms, e_dx_rms, e_dw, e_db, e_dw_rms;
    for (int64_t r = 0; r < rows; ++r) {
      const Rounded m = mean(n, [&](int64_t i) { return at(x, r * n + i); });
      const auto centered = [&](int64_t i) { return at(x, r * n + i) - m; };
      const Rounded variance = mean(n, [&](int64_t i) { return centered(i) * centered(i); });
      const Rounded square =
          mean(n, [&](int64_t i) { return at(x, r * n + i) * at(x, r * n + i); });
      const Rounded inverse = Rounded(1) / sqrt(variance + Rounded(kEpsilon));
      const Rounded inverse_rms = Rounded(1) / sqrt(square + Rounded(kEpsilon));
      const Rounded mean_d = mean(n, [&](int64_t i) { return d_hat(r, i); });
      const Rounded dot = mean(n, [&](int64_t i) { return d_hat(r, i) * x_hat(r, i); });
      const Rounded dot_rms = mean(n, [&](int64_t i) { return d_hat(r, i) * x_hat_rms(r, i); });
      for (int64_t i = 0; i < n; ++i) {
        e_y.push_back(centered(i) * inverse * at(w, i) + at(b, i));
        e_dx.push_back(at(rstd, r) * (d_hat(r, i) - mean_d - x_hat(r, i) * dot));
        e_y_rms.push_back(at(x, r * n + i) * inverse_rms * at(w, i));
        e_dx_rms.push_back(at(rstd_rms, r) * (d_hat(r, i) - x_hat_rms(r, i) * dot_rms));
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto over_rows = [&](auto term) { return sum(rows, term); };
      e_dw.push_back(over_rows([&](int64_t r) { return at(dy, r * n + i) * x_hat(r, i); }));
      e_db.push_back(over_rows([&](int64_t r) { return at(dy, r * n + i); }));
      e_dw_rms.push_back(over_rows([&](int64_t r) { return at(dy, r * n + i) * x_hat_rms(r, i); }));
    }
    SCOPED_TRACE(shape.to_string());
    EXPECT_EQ(outside(y, e_y) + outside(y_rms, e_y_rms), 0);
    EXPECT_EQ(outside(dx, e_dx) + outside(dw, e_dw) + outside(db, e_db), 0);
    EXPECT_EQ(outside(dx_rms, e_dx_rms) + outside(dw_rms, e_dw_rms), 0);
  }
}

TEST(F32, ScattersAreWithinTheBoundOfWhatMeets) {
  for (const Shape& shape : shapes(2, 26)) {
    const int64_t count = shape[0], width = shape[1], rows = 11;
    const Array dy = f32(shape, 27);
    RandomStream stream(28);
    std::vector<int64_t> index;
    for (int64_t i = 0; i < count; ++i) index.push_back(static_cast<int64_t>(stream.below(rows)));
    Array table = empty_f32({rows, width});
    scatter_add_rows(dy, Array::of({count}, index), table);
    Expected expected;
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<int64_t> meet;
      for (int64_t i = 0; i < count; ++i) {
        if (index[static_cast<size_t>(i)] == row) meet.push_back(i);
      }
      for (int64_t c = 0; c < width; ++c) {
        expected.push_back(sum(std::ssize(meet), [&](int64_t k) {
          return Rounded(dy.data<float>()[meet[static_cast<size_t>(k)] * width + c]);
        }));
      }
    }
    EXPECT_EQ(outside(table, expected), 0) << shape.to_string();
  }
}

TEST(F32, DropoutIsWithinRounding) {
  for (const Shape& shape : shapes(1, 29)) {
    const Array x = f32(shape, 30);
    Array y = empty_f32(shape), dx = empty_f32(shape), mask(shape, DType::boolean);
    dropout(RandomStream(31), 0.3, x, y, mask);
    dropout_backward(mask, 0.3, x, dx);
    const Expected expected = mapped(x, mask, [](Rounded v, Rounded kept) {
      return kept.value != 0 ? v * constant(1 / 0.7) : Rounded(0);
    });
    EXPECT_EQ(outside(y, expected) + outside(dx, expected), 0);
  }
}

TEST(F32, ATermThatIsLeftOutIsOutside) {
  for (const int64_t n : {2, 17, 130, 3001}) {
    const Array x = positive(f32({n}, 32));
    const auto sum_of = [&](int64_t count) {
      return sum(count, [&](int64_t i) { return Rounded(x.data<float>()[i]); });
    };
    Array y = empty_f32({1});
    sum(x, 1, n, 1, y);
    EXPECT_EQ(outside_quietly(y, {sum_of(n)}), 0);
    EXPECT_EQ(outside_quietly(y, {sum_of(n - 1)}), 1) << n;
  }
}

}  // namespace
}  // namespace qkv::kernels
