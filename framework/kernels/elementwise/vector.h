#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "framework/core/dtype.h"

// Vectors of numbers, as a processor's register holds them, for the loops that a compiler does not
// make into vector instructions by itself.
//
// Highway 1.0.3 (libhwy-dev) in its place, tried on the rows of softmax in f32 (Xeon with AVX-512,
// one thread, ns a row, the fastest of 400): 16 numbers 24 and here 39, 65 numbers 69 and 79,
// 256 numbers 176 and 190, 1000 numbers 617 and 627, 4096 numbers 2331 and 2339. It gains where
// a row ends in part of a vector, which it masks and this leaves to scalar code; the kernel is 50
// lines with it and 10 here, where the loops over exp are plain C++, for every type.
namespace qkv::kernels {

#if defined(__AVX512F__)
constexpr int64_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int64_t kVectorBytes = 32;
#else
constexpr int64_t kVectorBytes = 16;
#endif

// No processor has registers of several Float128.
template <class T>
constexpr int64_t kVectorLength = std::is_same_v<T, Float128>
                                      ? 1
                                      : kVectorBytes / static_cast<int64_t>(sizeof(T));

template <class T>
struct VectorOf {
  // Read and written at any address of a T.
  using Type
      __attribute__((vector_size(kVectorLength<T> * sizeof(T)), aligned(alignof(T)), may_alias)) =
          T;
};
template <class T>
using Vector = typename VectorOf<T>::Type;

template <class T>
inline Vector<T>& vector_at(T* x) {
  return *reinterpret_cast<Vector<T>*>(x);
}
template <class T>
inline const Vector<T>& vector_at(const T* x) {
  return *reinterpret_cast<const Vector<T>*>(x);
}

// As many 16-bit or 32-bit words as a vector of float has numbers.
template <class Word>
struct WordsOf {
  using Type __attribute__((vector_size(kVectorLength<float> * sizeof(Word)),
                            aligned(alignof(Word)), may_alias)) = Word;
};

// A vector of numbers: bf16 ones as float, and float rounded to bf16 as BFloat16 rounds.
inline Vector<float> load_vector(const float* x) { return vector_at(x); }
inline Vector<double> load_vector(const double* x) { return vector_at(x); }
inline Vector<Float128> load_vector(const Float128* x) { return vector_at(x); }
inline void store_vector(float* y, Vector<float> x) { vector_at(y) = x; }
inline void store_vector(double* y, Vector<double> x) { vector_at(y) = x; }
inline void store_vector(Float128* y, Vector<Float128> x) { vector_at(y) = x; }

inline Vector<float> load_vector(const BFloat16* x) {
  using Words = WordsOf<uint32_t>::Type;
  const auto halves = *reinterpret_cast<const WordsOf<uint16_t>::Type*>(x);
  return reinterpret_cast<Vector<float>>(__builtin_convertvector(halves, Words) << 16);
}

inline void store_vector(BFloat16* y, Vector<float> x) {
  using Words = WordsOf<uint32_t>::Type;
  using Halves = WordsOf<uint16_t>::Type;
  const Words words = reinterpret_cast<Words>(x);
  const Words rounded = (words + 0x7fff + ((words >> 16) & 1)) >> 16;
  const Words nan = (words >> 16) | 0x40;
  *reinterpret_cast<Halves*>(y) = __builtin_convertvector(x == x ? rounded : nan, Halves);
}

// n rounded up to whole vectors.
template <class T>
constexpr int64_t whole_vectors(int64_t n) {
  return (n + kVectorLength<T> - 1) / kVectorLength<T> * kVectorLength<T>;
}

// One of log2(n) steps of transpose: swaps b's places without the bit kStep and a's with it.
template <int kStep, class V, int... kPlace>
inline void exchange(V& a, V& b, std::integer_sequence<int, kPlace...>) {
  constexpr int n = sizeof...(kPlace);
  const V low = __builtin_shufflevector(a, b, ((kPlace & kStep) ? n + kPlace - kStep : kPlace)...);
  b = __builtin_shufflevector(a, b, ((kPlace & kStep) ? n + kPlace : kPlace + kStep)...);
  a = low;
}

// x[i][j] <-> x[j][i] for a square of n vectors of n numbers; n is a power of two, kStep n / 2.
template <int kStep, int n, class V>
inline void transpose(V (&x)[n]) {
  if constexpr (n == 1) return;
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
    if ((i & kStep) == 0) exchange<kStep>(x[i], x[i + kStep], std::make_integer_sequence<int, n>());
  }
  if constexpr (kStep > 1) transpose<kStep / 2>(x);
}

// A vector's numbers joined: those kHalf apart first, then half of that …
template <int kHalf, class V, class Join, int... kPlace>
inline auto join_places(V x, Join join, std::integer_sequence<int, kPlace...> places) {
  if constexpr (sizeof...(kPlace) == 1) return x[0];
  const V moved = __builtin_shufflevector(x, x, (kPlace ^ kHalf)...);
  const V joined = join(x, moved);
  if constexpr (kHalf > 1) {
    return join_places<kHalf / 2>(joined, join, places);
  } else {
    return joined[0];
  }
}

// term(at) for all i < n joined to one number, where at(x) is the vector that begins at x[i], or
// x[i] alone for the rest at the end. The order depends on n alone, and the rounding errors of a
// sum grow with n / kVectorLength. `start` must be neutral: join(start, t) is t.
template <class T, class Term, class Join>
inline T join_vectors(int64_t n, T start, Term term, Join join) {
  constexpr int64_t kLength = kVectorLength<T>;
  Vector<T> even = Vector<T>{} + start, odd = even;
  int64_t i = 0;
  const auto vector = [&i](const T* x) { return vector_at(x + i); };
  while (i + 2 * kLength <= n) {
    even = join(even, term(vector));
    i += kLength;
    odd = join(odd, term(vector));
    i += kLength;
  }
  if (i + kLength <= n) {
    even = join(even, term(vector));
    i += kLength;
  }
  constexpr int kPlaces = static_cast<int>(kLength);
  T result =
      join_places<kPlaces / 2>(join(even, odd), join, std::make_integer_sequence<int, kPlaces>());
  for (; i < n; ++i) result = join(result, term([i](const T* x) { return x[i]; }));
  return result;
}

template <class T, class Term>
inline T sum_of_terms(int64_t n, Term term) {
  return join_vectors(n, T(0), term, [](auto a, auto b) { return a + b; });
}

template <class T>
inline T sum_of(const T* x, int64_t n) {
  return sum_of_terms<T>(n, [x](auto at) { return at(x); });
}

// The largest of x[0 … n - 1]; NaNs are passed over.
template <class T>
inline T largest_of(const T* x, int64_t n) {
  return join_vectors(
      n, -kInfinityOf<T>, [x](auto at) { return at(x); },
      [](auto a, auto b) { return b > a ? b : a; });
}

// The sum of term(i) over i < n, for terms that a compiler does make into vector instructions: they
// stand in an array before they are added.
template <class T, class Term>
inline T sum_of_computed(int64_t n, Term term) {
  constexpr int64_t kAtATime = 256;
  T terms[kAtATime];
  T sum = 0;
  for (int64_t i = 0; i < n; i += kAtATime) {
    const int64_t count = std::min(kAtATime, n - i);
#pragma omp simd
    for (int64_t k = 0; k < count; ++k) terms[k] = term(i + k);
    sum += sum_of(terms, count);
  }
  return sum;
}

}  // namespace qkv::kernels
