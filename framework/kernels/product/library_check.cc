#include "framework/kernels/product/library_check.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "framework/kernels/elementwise/convert.h"

namespace qkv::kernels {
namespace {

// Elements behind the last one of c, which nobody may write.
constexpr int64_t kGuard = 64;

// Tells the numbers that are made up apart.
enum Purpose : uint32_t { kA = 1, kB, kBias, kWeights };

// One of the odd integers 1 - range, 3 - range, … range - 1, which depends on every bit of its
// place. None is 0: it would hide what it is multiplied by. (The finalizer of MurmurHash3.)
int32_t integer_at(Purpose purpose, int64_t place, int32_t range) {
  uint32_t h = static_cast<uint32_t>(place) + purpose * 0x9e3779b9U;
  h = (h ^ h >> 16) * 0x85ebca6bU;
  h = (h ^ h >> 13) * 0xc2b2ae35U;
  return 2 * static_cast<int32_t>((h >> 16) * static_cast<uint32_t>(range) >> 16) - range + 1;
}

// The range of the operands: c holds the sum of k products and a bias exactly, and f32 every part
// of it. (Where k is too long for that, the signs of the terms keep the sum small.)
int32_t range_of_operands(const MatrixProduct& p) {
  const double exact = p.c.dtype == DType::bf16 ? 0x1p8 : 0x1p24;
  const double largest = std::sqrt(exact / static_cast<double>(p.a.columns + 1));
  return 2 * static_cast<int32_t>(std::clamp((largest + 1) / 2, 1.0, 64.0));
}

// Matrices with memory of their own, which the system has back at the end: no step needs it again.
class Numbers {
 public:
  // One for each place between the first element and the last: integers, or NaN with a guard.
  Numbers(const Matrices& layout, Purpose purpose, int32_t range) : Numbers(layout, 0) {
    fill([=](int64_t i) { return static_cast<float>(integer_at(purpose, i, range)); });
  }
  static Numbers none_yet(const Matrices& layout) {
    Numbers numbers(layout, kGuard);
    numbers.fill([](int64_t) { return std::numeric_limits<float>::quiet_NaN(); });
    return numbers;
  }

  void* raw() const { return bytes_.get(); }

  int64_t count_written() const {
    return dispatch_stored("matmul", layout_.dtype, [&]<class T>(T) {
      const T* x = data<T>();
      int64_t count = 0;
      for (int64_t i = 0; i < size_; ++i) count += !std::isnan(convert<float>(x[i]));
      return count;
    });
  }

  // Matrix n by a vector, or f of each of its elements. Integers below 2⁵³: exact in any order.
  template <class F>
  std::vector<double> by_vector(int64_t n, const std::vector<double>& v, F f) const {
    std::vector<double> result(static_cast<size_t>(layout_.rows));
    dispatch_stored("matmul", layout_.dtype, [&]<class T>(T) {
      const T* matrix = data<T>() + (layout_.batch == 1 ? 0 : n * layout_.batch_stride);
      const auto add = [&](int64_t i, int64_t j) {
        const T element = matrix[i * layout_.row_stride + j * layout_.column_stride];
        result[static_cast<size_t>(i)] += f(convert<double>(element)) * v[static_cast<size_t>(j)];
      };
      // In the order of memory.
      if (layout_.row_stride < layout_.column_stride) {
        for (int64_t j = 0; j < layout_.columns; ++j) {
          for (int64_t i = 0; i < layout_.rows; ++i) add(i, j);
        }
      } else {
        for (int64_t i = 0; i < layout_.rows; ++i) {
          for (int64_t j = 0; j < layout_.columns; ++j) add(i, j);
        }
      }
    });
    return result;
  }
  std::vector<double> by_vector(int64_t n, const std::vector<double>& v) const {
    return by_vector(n, v, [](double element) { return element; });
  }

 private:
  Numbers(const Matrices& layout, int64_t guard)
      : layout_(layout),
        size_(layout.extent() + guard),
        bytes_(static_cast<std::byte*>(
            ::operator new(static_cast<size_t>(size_) * dtype_bytes(layout.dtype), kAlignment))) {}

  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(bytes_.get());
  }

  template <class F>
  void fill(F f) {
    dispatch_stored("matmul", layout_.dtype, [&]<class T>(T) {
      T* out = data<T>();
      for (int64_t i = 0; i < size_; ++i) out[i] = convert<T>(f(i));
    });
  }

  static constexpr std::align_val_t kAlignment{64};  // as an Array has it
  struct Delete {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, kAlignment); }
  };

  Matrices layout_;
  int64_t size_;
  std::unique_ptr<std::byte, Delete> bytes_;
};

// How much rounding may have changed an element of c.
double rounding(double element) {
  return std::abs(element) > 0x1p8 ? 0x1p-7 * std::abs(element) : 0.0;
}

}  // namespace

bool multiplies_rightly(const MatrixProduct& p, Multiply multiply) {
  const int32_t range = range_of_operands(p);
  const Numbers a(p.a, kA, range), b(p.b, kB, range), c = Numbers::none_yet(p.c);
  std::optional<Numbers> bias;
  if (p.bias) bias.emplace(*p.bias, kBias, range);
  multiply(a.raw(), b.raw(), bias ? bias->raw() : nullptr, c.raw());
  if (c.count_written() != p.c.batch * p.c.rows * p.c.columns) return false;

  std::vector<double> x, magnitude;
  for (int64_t j = 0; j < p.c.columns; ++j) {
    x.push_back(integer_at(kWeights, j, 128));
    magnitude.push_back(std::abs(x.back()));
  }
  const double bias_x = bias ? bias->by_vector(0, x)[0] : 0.0;
  std::vector<double> bx;
  for (int64_t n = 0; n < p.c.batch; ++n) {
    if (n == 0 || p.b.batch > 1) bx = b.by_vector(n, x);
    const std::vector<double> expected = a.by_vector(n, bx), cx = c.by_vector(n, x);
    std::vector<double> allowed(cx.size());
    if (p.c.dtype == DType::bf16) allowed = c.by_vector(n, magnitude, rounding);
    for (size_t i = 0; i < cx.size(); ++i) {
      if (!(std::abs(cx[i] - expected[i] - bias_x) <= allowed[i])) return false;
    }
  }
  return true;
}

}  // namespace qkv::kernels
