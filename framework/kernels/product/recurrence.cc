#include <algorithm>

#include "framework/kernels/elementwise/vector.h"
#include "framework/kernels/elementwise/vector_math.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product/product_log.h"
#include "framework/kernels/product/small_product.h"

// A piece is a few sequences from beginning to end, so that no thread waits for another, and the
// products of one position are those of small_product.h.

namespace qkv::kernels {
namespace {

struct Sizes {
  int64_t batch, length, hidden, gates, parts;  // gates a number of x, parts a number of the state

  Sizes(const Array& weight, const Array& states)
      : batch(states.shape()[0]),
        length(states.shape()[1]),
        hidden(weight.shape()[1]),
        gates(hidden == 0 ? 0 : weight.shape()[0] / hidden),
        parts(hidden == 0 ? 0 : states.shape()[2] / hidden) {}

  // As many rows as share one read of the weight, where there are enough for several threads.
  int64_t grain() const { return batch < 32 ? 4 : 8; }
};

// Position number `step` of a walk in the direction of the scan.
int64_t position(const Sizes& n, bool reverse, int64_t step) {
  return reverse ? n.length - 1 - step : step;
}

void record(const Sizes& n, DType dtype, bool backward) {
  const Shape gates_shape{1, n.batch, n.gates * n.hidden}, state_shape{1, n.batch, n.hidden};
  for (int64_t t = 0; t < n.length; ++t) {
    record_product({.a = backward ? gates_shape : state_shape,
                    .b = {1, n.gates * n.hidden, n.hidden},
                    .c = backward ? state_shape : gates_shape,
                    .transpose_b = !backward,
                    .operand_dtype = dtype,
                    .result_dtype = dtype});
  }
}

// Wᵀ [H, gates * padded], each gate on its own in whole vectors.
template <class T>
Array turned_weight(const Array& weight, const Sizes& n, int64_t padded) {
  Array result = Array::full({n.hidden, n.gates * padded}, weight.dtype(), 0);
  const T* w = weight.data<T>();
  T* to = result.mutable_data<T>();
  for (int64_t g = 0; g < n.gates; ++g) {
    for (int64_t j = 0; j < n.hidden; ++j) {
      const T* row = w + (g * n.hidden + j) * n.hidden;
      T* column = to + g * padded + j;
      for (int64_t k = 0; k < n.hidden; ++k) column[k * n.gates * padded] = row[k];
    }
  }
  return result;
}

// W [gates H, padded], its rows in whole vectors.
template <class T>
Array padded_weight(const Array& weight, const Sizes& n, int64_t padded) {
  const int64_t rows = n.gates * n.hidden;
  Array result = Array::full({rows, padded}, weight.dtype(), 0);
  const T* w = weight.data<T>();
  T* to = result.mutable_data<T>();
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(w + row * n.hidden, n.hidden, to + row * padded);
  }
  return result;
}

// cell(row, product, before, after): what position `row` of [B, T] makes of the product W h (gate g
// at product + g * padded) and of the state before, where there is no padding.
template <class T, class Cell>
void scan(const Array& weight, const Array& first, const ScanArguments& arguments, Array& states,
          Cell cell) {
  const Sizes n(weight, states);
  if (states.size() == 0) return;
  record(n, states.dtype(), /*backward=*/false);
  const int64_t padded = whole_vectors<T>(n.hidden), width = n.gates * padded;
  const int64_t state = n.parts * n.hidden;
  const Array turned = turned_weight<T>(weight, n, padded);
  const T* w = turned.data<T>();
  const T* start = first.data<T>();
  const bool* padding = arguments.padding ? arguments.padding->data<bool>() : nullptr;
  T* out = states.mutable_data<T>();
  parallel_for(n.batch, n.grain(), [&, w, start, padding, out](int64_t begin, int64_t end) {
    Array product_buffer({end - begin, width}, states.dtype());
    T* products = product_buffer.mutable_data<T>();
    const T* before = start + begin * state;  // of the first of these sequences
    int64_t stride = state;                   // to that of the next
    for (int64_t step = 0; step < n.length; ++step) {
      const int64_t t = position(n, arguments.reverse, step);
      small_product<T>(end - begin, width, n.hidden, {before, stride, 1}, w, width, /*add=*/false,
                       products, width);
      T* after = out + (begin * n.length + t) * state;
      for (int64_t b = begin; b < end; ++b) {
        const int64_t row = b * n.length + t, i = b - begin;
        if (padding && padding[row]) {
          std::copy_n(before + i * stride, state, out + row * state);
        } else {
          cell(row, products + i * width, before + i * stride, out + row * state);
        }
      }
      before = after;
      stride = n.length * state;
    }
  });
}

// cell(b, step, dh, dc, dx): the gradient of x at a step of sequence b from that of its state,
// whose first part is dh and whose second, where there is one, is dc; and in the place of dc that
// of c before the step. That of h before it is Wᵀ dx.
template <class T, class Cell>
void scan_backward(const Array& weight, const Array& states, const Array& dstates,
                   const ScanArguments& arguments, Array& dx, Array& dfirst, Cell cell) {
  const Sizes n(weight, states);
  if (dfirst.size() == 0) return;
  record(n, states.dtype(), /*backward=*/true);
  const int64_t padded = whole_vectors<T>(n.hidden), state = n.parts * padded;
  const int64_t gates = n.gates * n.hidden;
  const Array whole = padded_weight<T>(weight, n, padded);
  const T* w = whole.data<T>();
  const bool* padding = arguments.padding ? arguments.padding->data<bool>() : nullptr;
  const auto is_zero = [](T d) { return d == T(0); };
  const T* dout = dstates.data<T>();
  T* din = dx.mutable_data<T>();
  T* dstart = dfirst.mutable_data<T>();
  parallel_for(n.batch, n.grain(), [&, w, padding, dout, din, dstart](int64_t begin, int64_t end) {
    Array state_buffer = Array::full({end - begin, state}, states.dtype(), 0);  // [rows, parts, H]
    T* carried = state_buffer.mutable_data<T>();
    for (int64_t step = n.length - 1; step >= 0; --step) {
      const int64_t t = position(n, arguments.reverse, step);
      for (int64_t b = begin; b < end; ++b) {
        const int64_t row = b * n.length + t;
        T* dstate = carried + (b - begin) * state;
        for (int64_t part = 0; part < n.parts; ++part) {
          const T* d = dout + (row * n.parts + part) * n.hidden;
          T* to = dstate + part * padded;
#pragma omp simd
          for (int64_t j = 0; j < n.hidden; ++j) to[j] += d[j];
        }
        // A zero gradient has no effect, even where its state is not finite.
        if ((padding && padding[row]) || std::all_of(dstate, dstate + state, is_zero)) {
          std::fill_n(din + row * gates, gates, T(0));
        } else {
          cell(b, step, dstate, dstate + padded, din + row * gates);
          std::fill_n(dstate, padded, T(0));
        }
      }
      small_product<T>(end - begin, padded, gates,
                       {din + (begin * n.length + t) * gates, n.length * gates, 1}, w, padded,
                       /*add=*/true, carried, state);
    }
    for (int64_t b = begin; b < end; ++b) {
      for (int64_t part = 0; part < n.parts; ++part) {
        std::copy_n(carried + (b - begin) * state + part * padded, n.hidden,
                    dstart + (b * n.parts + part) * n.hidden);
      }
    }
  });
}

}  // namespace

void rnn(const Array& x, const Array& weight, const Array& first, const ScanArguments& arguments,
         Array& states) {
  dispatch_floating("rnn", x.dtype(), [&]<class T>(T) {
    const int64_t hidden = weight.shape()[1];
    const T* in = x.data<T>();
    scan<T>(weight, first, arguments, states,
            [=](int64_t row, const T* product, const T* /*before*/, T* after) {
              const T* xr = in + row * hidden;
#pragma omp simd
              for (int64_t j = 0; j < hidden; ++j) after[j] = math::tanh(xr[j] + product[j]);
            });
  });
}

void rnn_backward(const Array& weight, const Array& states, const Array& dstates,
                  const ScanArguments& arguments, Array& dx, Array& dfirst) {
  dispatch_floating("rnn_backward", states.dtype(), [&]<class T>(T) {
    const int64_t hidden = weight.shape()[1], length = states.shape()[1];
    const T* out = states.data<T>();
    const bool reverse = arguments.reverse;
    scan_backward<T>(weight, states, dstates, arguments, dx, dfirst,
                     [=](int64_t b, int64_t step, const T* dh, const T* /*unused*/, T* dxr) {
                       const int64_t t = reverse ? length - 1 - step : step;
                       const T* h = out + (b * length + t) * hidden;
#pragma omp simd
                       for (int64_t j = 0; j < hidden; ++j) dxr[j] = (1 - h[j] * h[j]) * dh[j];
                     });
  });
}

void lstm(const Array& x, const Array& weight, const Array& first, const ScanArguments& arguments,
          Array& states, Array& gates) {
  dispatch_floating("lstm", x.dtype(), [&]<class T>(T) {
    const int64_t hidden = weight.shape()[1], padded = whole_vectors<T>(hidden);
    const T* in = x.data<T>();
    T* kept = gates.mutable_data<T>();
    if (arguments.padding) std::fill_n(kept, gates.size(), T(0));
    scan<T>(weight, first, arguments, states,
            [=](int64_t row, const T* product, const T* before, T* after) {
              // One function a loop: a compiler makes vectors of no more than that.
              const T* xr = in + row * 4 * hidden;
              T* gate = kept + row * 4 * hidden;
              for (int64_t g = 0; g < 4; ++g) {
                const T* x_term = xr + g * hidden;
                const T* h_term = product + g * padded;
                T* to = gate + g * hidden;
                if (g == 2) {
#pragma omp simd
                  for (int64_t j = 0; j < hidden; ++j) to[j] = math::tanh(x_term[j] + h_term[j]);
                } else {
#pragma omp simd
                  for (int64_t j = 0; j < hidden; ++j) to[j] = math::sigmoid(x_term[j] + h_term[j]);
                }
              }
              const T *i = gate, *f = gate + hidden, *g = gate + 2 * hidden, *o = gate + 3 * hidden;
              const T* c_before = before + hidden;
              T* c = after + hidden;
#pragma omp simd
              for (int64_t j = 0; j < hidden; ++j) c[j] = f[j] * c_before[j] + i[j] * g[j];
#pragma omp simd
              for (int64_t j = 0; j < hidden; ++j) after[j] = o[j] * math::tanh(c[j]);
            });
  });
}

void lstm_backward(const Array& weight, const Array& first, const Array& states, const Array& gates,
                   const Array& dstates, const ScanArguments& arguments, Array& dx, Array& dfirst) {
  dispatch_floating("lstm_backward", states.dtype(), [&]<class T>(T) {
    const int64_t hidden = weight.shape()[1], length = states.shape()[1];
    const T* start = first.data<T>();
    const T* out = states.data<T>();
    const T* kept = gates.data<T>();
    const bool reverse = arguments.reverse;
    scan_backward<T>(
        weight, states, dstates, arguments, dx, dfirst,
        [=](int64_t b, int64_t step, const T* dh, T* dc, T* dxr) {
          const int64_t t = reverse ? length - 1 - step : step;
          const int64_t row = b * length + t, earlier = reverse ? row + 1 : row - 1;
          const T* c_before =
              (step == 0 ? start + b * 2 * hidden : out + earlier * 2 * hidden) + hidden;
          const T* c = out + row * 2 * hidden + hidden;
          const T* gate = kept + row * 4 * hidden;
          const T *i = gate, *f = gate + hidden, *g = gate + 2 * hidden, *o = gate + 3 * hidden;
          T *di = dxr, *df = dxr + hidden, *dg = dxr + 2 * hidden, *d_o = dxr + 3 * hidden;
          T* squashed = di;  // tanh(c), until all has been made of it
#pragma omp simd
          for (int64_t j = 0; j < hidden; ++j) squashed[j] = math::tanh(c[j]);
#pragma omp simd
          for (int64_t j = 0; j < hidden; ++j) {
            dc[j] += dh[j] * o[j] * (1 - squashed[j] * squashed[j]);
            d_o[j] = dh[j] * squashed[j] * o[j] * (1 - o[j]);
          }
#pragma omp simd
          for (int64_t j = 0; j < hidden; ++j) {
            di[j] = dc[j] * g[j] * i[j] * (1 - i[j]);
            df[j] = dc[j] * c_before[j] * f[j] * (1 - f[j]);
            dg[j] = dc[j] * i[j] * (1 - g[j] * g[j]);
            dc[j] *= f[j];
          }
        });
  });
}

}  // namespace qkv::kernels
