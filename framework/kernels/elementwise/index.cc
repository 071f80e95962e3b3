#include <algorithm>

#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"

namespace qkv::kernels {
namespace {

int64_t row_width(const Array& rows) { return rows.shape()[-1]; }

}  // namespace

int64_t out_of_range(const Array& index, int64_t bound) {
  const int64_t* i = index.data<int64_t>();
  const int64_t* end = i + index.size();
  const int64_t* found =
      std::find_if(i, end, [bound](int64_t value) { return value < 0 || value >= bound; });
  return found == end ? -1 : found - i;
}

void gather_rows(const Array& table, const Array& index, Array& y) {
  const int64_t width = row_width(table);
  const int64_t* row = index.data<int64_t>();
  dispatch_any(table.dtype(), [&]<class T>(T) {
    const T* in = table.data<T>();
    T* out = y.mutable_data<T>();
    parallel_for(index.size(), piece_rows(width), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::copy_n(in + row[i] * width, width, out + i * width);
    });
  });
}

void scatter_add_rows(const Array& dy, const Array& index, Array& dtable) {
  zero(dtable);
  const int64_t width = row_width(dtable);
  const int64_t count = index.size();
  const int64_t* row = index.data<int64_t>();
  dispatch_floating("scatter_add_rows", dy.dtype(), [&]<class T>(T) {
    const T* in = dy.data<T>();
    T* out = dtable.mutable_data<T>();
    // Shared by columns, so that each sum is taken by one thread in the order of i.
    const int64_t grain = std::max<int64_t>(16, piece_rows(count));
    parallel_for(width, grain, [=](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < count; ++i) {
        const T* from = in + i * width;
        T* to = out + row[i] * width;
#pragma omp simd
        for (int64_t c = begin; c < end; ++c) to[c] += from[c];
      }
    });
  });
}

void gather(const Array& x, const Array& index, int64_t outer, int64_t n, int64_t m, int64_t inner,
            Array& y) {
  if (index.size() == 0) return;
  const int64_t* at = index.data<int64_t>();
  dispatch_any(x.dtype(), [&]<class T>(T) {
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    parallel_for(outer * m, piece_rows(inner), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* block = in + row / m * n * inner;
        for (int64_t j = 0; j < inner; ++j) {
          out[row * inner + j] = block[at[row * inner + j] * inner + j];
        }
      }
    });
  });
}

void scatter_add(const Array& dy, const Array& index, int64_t outer, int64_t n, int64_t m,
                 int64_t inner, Array& dx) {
  zero(dx);
  if (index.size() == 0) return;
  const int64_t* at = index.data<int64_t>();
  dispatch_floating("scatter_add", dy.dtype(), [&]<class T>(T) {
    const T* in = dy.data<T>();
    T* out = dx.mutable_data<T>();
    parallel_for(outer, piece_rows(m * inner), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin * m; row < end * m; ++row) {
        T* block = out + row / m * n * inner;
        for (int64_t j = 0; j < inner; ++j) {
          block[at[row * inner + j] * inner + j] += in[row * inner + j];
        }
      }
    });
  });
}

void one_hot(const Array& index, int64_t classes, Array& y) {
  zero(y);
  const int64_t* at = index.data<int64_t>();
  const auto set = [&](auto one) {
    auto* out = y.mutable_data<decltype(one)>();
    for (int64_t i = 0; i < index.size(); ++i) out[i * classes + at[i]] = one;
  };
  if (y.dtype() == DType::bf16) return set(BFloat16(1.0f));
  if (y.dtype() == DType::i64) return set(int64_t{1});
  if (y.dtype() == DType::boolean) return set(true);
  dispatch_floating("one_hot", y.dtype(), [&](auto zero_value) { set(decltype(zero_value)(1)); });
}

}  // namespace qkv::kernels
