#include "framework/core/error.h"
#include "framework/kernels/elementwise/convert.h"
#include "framework/kernels/elementwise/vector.h"
#include "framework/kernels/elementwise/vector_math.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

// While the upper halves of vector registers are in use, those of libm's functions of double that
// know no AVX are ten times slower; and compilers do not clear them at the end of every loop.
inline void clear_upper_halves() {
#ifdef __AVX__
  __builtin_ia32_vzeroupper();
#endif
}

// y[i] = f(x[i]), y[i] = f(a[i], b[i]), computed in Computed<X>; y may be an input.
template <class X, class Y, class F>
void map(const Array& x, Array& y, F f) {
  const X* in = x.data<X>();
  Y* out = y.mutable_data<Y>();
  parallel_for(x.size(), kGrainOf<X>, [=](int64_t begin, int64_t end) {
    clear_upper_halves();
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) out[i] = convert<Y>(f(convert<Computed<X>>(in[i])));
  });
}

template <class X, class Y, class F>
void zip(const Array& a, const Array& b, Array& y, F f) {
  using T = Computed<X>;
  const X* left = a.data<X>();
  const X* right = b.data<X>();
  Y* out = y.mutable_data<Y>();
  parallel_for(y.size(), kGrainOf<X>, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      out[i] = convert<Y>(f(convert<T>(left[i]), convert<T>(right[i])));
    }
  });
}

template <class T>
constexpr T kSqrt2OverPi = static_cast<T>(kSqrt2<Float128>* kInverseSqrtPi<Float128>);
template <class T>
constexpr T kCubic = T(0.044715);  // of gelu_tanh

template <class T>
T normal_density(T x) {
  return math::exp(T(-0.5) * x * x) * (kInverseSqrtPi<T> / kSqrt2<T>);
}

template <class T>
T gelu_tanh_inner(T x) {
  return kSqrt2OverPi<T> * (x + kCubic<T> * x * x * x);
}

template <class X>
void unary_of(Unary f, const Array& x, Array& y) {
  using T = Computed<X>;
  switch (f) {
    case Unary::neg:
      return map<X, X>(x, y, [](T v) { return -v; });
    case Unary::exp:
      return map<X, X>(x, y, [](T v) { return math::exp(v); });
    case Unary::log:
      return map<X, X>(x, y, [](T v) { return math::log(v); });
    case Unary::sqrt:
      return map<X, X>(x, y, [](T v) { return math::sqrt(v); });
    case Unary::rsqrt:
      return map<X, X>(x, y, [](T v) { return T(1) / math::sqrt(v); });
    case Unary::tanh:
      return map<X, X>(x, y, [](T v) { return math::tanh(v); });
    case Unary::sigmoid:
      return map<X, X>(x, y, [](T v) { return math::sigmoid(v); });
    case Unary::relu:
      return map<X, X>(x, y, [](T v) { return v < T(0) ? T(0) : v; });  // a NaN stays one
    case Unary::erf:
      return map<X, X>(x, y, [](T v) { return math::erf(v); });
    case Unary::gelu_erf:
      return map<X, X>(x, y, [](T v) { return v * math::normal_cdf(v); });
    case Unary::gelu_tanh:
      return map<X, X>(x, y,
                       [](T v) { return T(0.5) * v * (T(1) + math::tanh(gelu_tanh_inner(v))); });
    case Unary::silu:
      return map<X, X>(x, y, [](T v) { return v * math::sigmoid(v); });
  }
}

template <class X>
void unary_backward_of(Unary f, const Array& x, const Array& dy, Array& dx) {
  using T = Computed<X>;
  switch (f) {
    case Unary::tanh:
      return zip<X, X>(x, dy, dx, [](T v, T d) {
        const T t = math::tanh(v);
        return d * (T(1) - t * t);
      });
    case Unary::sigmoid:
      return zip<X, X>(x, dy, dx, [](T v, T d) {
        const T s = math::sigmoid(v);
        return d * s * (T(1) - s);
      });
    case Unary::relu:
      return zip<X, X>(x, dy, dx, [](T v, T d) { return v <= T(0) ? T(0) : d; });
    case Unary::gelu_erf:
      return zip<X, X>(x, dy, dx,
                       [](T v, T d) { return d * (math::normal_cdf(v) + v * normal_density(v)); });
    case Unary::gelu_tanh:
      return zip<X, X>(x, dy, dx, [](T v, T d) {
        const T t = math::tanh(gelu_tanh_inner(v));
        const T inner = kSqrt2OverPi<T> * (T(1) + T(3) * kCubic<T> * v * v);  // its derivative
        return d * T(0.5) * ((T(1) + t) + v * (T(1) - t * t) * inner);
      });
    case Unary::silu:
      return zip<X, X>(x, dy, dx, [](T v, T d) {
        const T s = math::sigmoid(v);
        return d * s * (T(1) + v * (T(1) - s));
      });
    default:
      fail("unary_backward: not an activation");
  }
}

template <class X>
void binary_of(Binary f, const Array& a, const Array& b, Array& y) {
  using T = Computed<X>;
  switch (f) {
    case Binary::add:
      return zip<X, X>(a, b, y, [](T l, T r) { return l + r; });
    case Binary::sub:
      return zip<X, X>(a, b, y, [](T l, T r) { return l - r; });
    case Binary::mul:
      return zip<X, X>(a, b, y, [](T l, T r) { return l * r; });
    case Binary::div:
      return zip<X, X>(a, b, y, [](T l, T r) { return l / r; });
    case Binary::pow:
      return zip<X, X>(a, b, y, [](T l, T r) { return math::pow(l, r); });
    case Binary::maximum:  // a NaN on either side is the result
      return zip<X, X>(a, b, y, [](T l, T r) { return l > r || l != l ? l : r; });
  }
}

template <class T>
void compare_of(Comparison f, const Array& a, const Array& b, Array& mask) {
  switch (f) {
    case Comparison::less:
      return zip<T, bool>(a, b, mask, [](T l, T r) { return l < r; });
    case Comparison::less_equal:
      return zip<T, bool>(a, b, mask, [](T l, T r) { return l <= r; });
    case Comparison::equal:
      return zip<T, bool>(a, b, mask, [](T l, T r) { return l == r; });
    case Comparison::greater:
      return zip<T, bool>(a, b, mask, [](T l, T r) { return l > r; });
    case Comparison::greater_equal:
      return zip<T, bool>(a, b, mask, [](T l, T r) { return l >= r; });
  }
}

}  // namespace

void unary(Unary f, const Array& x, Array& y) {
  dispatch_stored("unary", x.dtype(), [&](auto zero) { unary_of<decltype(zero)>(f, x, y); });
}

void unary_backward(Unary f, const Array& x, const Array& dy, Array& dx) {
  dispatch_stored("unary_backward", x.dtype(),
                  [&](auto zero) { unary_backward_of<decltype(zero)>(f, x, dy, dx); });
}

void binary(Binary f, const Array& a, const Array& b, Array& y) {
  dispatch_stored("binary", a.dtype(), [&](auto zero) { binary_of<decltype(zero)>(f, a, b, y); });
}

void scale(const Array& x, Float128 factor, Array& y) {
  dispatch_floating("scale", x.dtype(), [&]<class T>(T) {
    map<T, T>(x, y, [c = static_cast<T>(factor)](T v) { return v * c; });
  });
}

void add_scalar(const Array& x, Float128 term, Array& y) {
  dispatch_floating("add_scalar", x.dtype(), [&]<class T>(T) {
    map<T, T>(x, y, [c = static_cast<T>(term)](T v) { return v + c; });
  });
}

void pow_scalar(const Array& x, Float128 exponent, Array& y) {
  dispatch_floating("pow_scalar", x.dtype(), [&]<class T>(T) {
    if (exponent == 2) return map<T, T>(x, y, [](T v) { return v * v; });
    if (exponent == 3) return map<T, T>(x, y, [](T v) { return v * v * v; });
    if (exponent == -1) return map<T, T>(x, y, [](T v) { return T(1) / v; });
    map<T, T>(x, y, [c = static_cast<T>(exponent)](T v) { return math::pow(v, c); });
  });
}

void compare(Comparison f, const Array& a, const Array& b, Array& mask) {
  if (a.dtype() == DType::i64) return compare_of<int64_t>(f, a, b, mask);
  dispatch_floating("compare", a.dtype(),
                    [&](auto zero) { compare_of<decltype(zero)>(f, a, b, mask); });
}

void where(const Array& mask, const Array& a, const Array& b, Array& y) {
  dispatch_any(a.dtype(), [&]<class T>(T) {
    const uint8_t* choose = mask_bytes(mask);
    const T* left = a.data<T>();
    const T* right = b.data<T>();
    T* out = y.mutable_data<T>();
    parallel_for(y.size(), kGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const T l = left[i], r = right[i];
        out[i] = choose[i] != 0 ? l : r;
      }
    });
  });
}

void masked_fill(const Array& x, const Array& mask, double value, Array& y) {
  dispatch_floating("masked_fill", x.dtype(), [&]<class T>(T) {
    const uint8_t* hidden = mask_bytes(mask);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    parallel_for(y.size(), kGrain, [=](int64_t begin, int64_t end) {
      const T fill = static_cast<T>(value);
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const T v = in[i];
        out[i] = hidden[i] != 0 ? fill : v;
      }
    });
  });
}

void cast(const Array& x, Array& y) {
  dispatch_any(x.dtype(), [&](auto from) {
    dispatch_any(y.dtype(), [&](auto to) {
      map<decltype(from), decltype(to)>(x, y, [](auto v) { return v; });
    });
  });
}

bool all_finite(const Array& x) {
  if (!is_floating(x.dtype())) return true;
  double bad = 0;
  dispatch_any(x.dtype(), [&]<class T>(T) {
    const T* in = x.data<T>();
    bad = parallel_sum<double>(x.size(), kGrain, [=](int64_t begin, int64_t end) {
      int64_t count = 0;
      for (int64_t i = begin; i < end; ++i) {
        const auto number = convert<Computed<T>>(in[i]);
        count += !(number - number == 0);
      }
      return static_cast<double>(count);
    });
  });
  return bad == 0;
}

Float128 sum_of_squares(const Array& x) {
  return dispatch_floating("sum_of_squares", x.dtype(), [&]<class T>(T) -> Float128 {
    using Sum = ScalarOf<T>;
    const T* in = x.data<T>();
    return parallel_sum<Sum>(x.size(), kGrain, [=](int64_t begin, int64_t end) {
      return sum_of_computed<Sum>(end - begin, [=](int64_t i) {
        const Sum v = in[begin + i];
        return v * v;
      });
    });
  });
}

}  // namespace qkv::kernels
