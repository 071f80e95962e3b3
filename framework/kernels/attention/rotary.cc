#include <cmath>
#include <complex>
#include <vector>

#include "framework/kernels/elementwise/convert.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

// cos and sin of the angle of each pair, position by position: [T, D].
template <class T>
std::vector<T> turns(int64_t first, int64_t length, int64_t width, double base, bool back) {
  std::vector<T> table(static_cast<size_t>(length * width));
  for (int64_t pair = 0; pair < width; pair += 2) {
    const double exponent = static_cast<double>(pair) / static_cast<double>(width);
    const double angle = (back ? -1.0 : 1.0) / std::pow(base, exponent);
    // From one position to the next it is one product, not another sine and cosine.
    const std::complex<double> step = std::polar(1.0, angle);
    std::complex<double> turn = std::polar(1.0, angle * static_cast<double>(first));
    for (int64_t t = 0; t < length; ++t, turn *= step) {
      table[static_cast<size_t>(t * width + pair)] = static_cast<T>(turn.real());
      table[static_cast<size_t>(t * width + pair + 1)] = static_cast<T>(turn.imag());
    }
  }
  return table;
}

}  // namespace

void rotate_pairs(const Array& x, int64_t first, double base, bool back, Array& y) {
  if (x.size() == 0) return;
  const int64_t length = x.shape()[1], heads = x.shape()[2], width = x.shape()[3];
  dispatch_stored("rotary", x.dtype(), [&]<class T>(T) {
    using C = Computed<T>;
    const std::vector<C> table = turns<C>(first, length, width, base, back);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    const int64_t tokens = x.shape()[0] * length, row = heads * width;
    parallel_for(tokens, piece_rows(row), [&](int64_t begin, int64_t end) {
      for (int64_t token = begin; token < end; ++token) {
        const C* turn = table.data() + token % length * width;
        for (int64_t head = token * heads; head < (token + 1) * heads; ++head) {
          const T* from = in + head * width;
          T* to = out + head * width;
#pragma omp simd
          for (int64_t i = 0; i < width; i += 2) {
            const C a = convert<C>(from[i]), b = convert<C>(from[i + 1]);
            to[i] = convert<T>(a * turn[i] - b * turn[i + 1]);
            to[i + 1] = convert<T>(a * turn[i + 1] + b * turn[i]);
          }
        }
      }
    });
  });
}

}  // namespace qkv::kernels
