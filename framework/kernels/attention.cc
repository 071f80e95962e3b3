#include "framework/kernels/attention.h"

#include <algorithm>
#include <limits>

#include "framework/kernels/head_rows.h"
#include "framework/kernels/mask.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product_log.h"
#include "framework/kernels/small_product.h"
#include "framework/kernels/vector_math.h"

namespace qkv::kernels {
namespace {

// Scores are made for a vector of queries and so many keys at a time. They stand in [keys,
// queries]: what softmax does to the queries of a vector, it does to all at once, and sums over
// keys are sums of vectors. What a causal mask hides is left out in steps of a vector.
constexpr int64_t kKeys = 256;
constexpr int64_t kFlops = 1'000'000;  // worth a piece

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

struct Sizes {
  int64_t heads, queries, keys, width;  // H, Tq, Tk, D
  bool causal;

  // Of the keys first … first + count - 1, how many query i sees: those at the front.
  int64_t seen(int64_t i, int64_t first, int64_t count) const {
    return causal ? std::clamp<int64_t>(i + 1 + keys - queries - first, 0, count) : count;
  }
};

Sizes sizes_of(const Array& query, const Array& key, bool causal) {
  const Shape& q = query.shape();
  return {q[2], q[1], key.shape()[1], q[3], causal};
}

// -inf for what the queries first … first + kLength - 1 don't see of the keys j … j + count - 1.
template <class T>
void hide(const Sizes& n, int64_t first, int64_t j, int64_t count, const uint8_t* padding,
          const Scratch<T>& scores) {
  if (n.causal) {
    Vector<T> query;
    for (int64_t i = 0; i < kVectorLength<T>; ++i) query[i] = static_cast<T>(i);
    for (int64_t k = n.seen(first, j, count); k < count; ++k) {
      const int64_t blind = j + k - (first + n.keys - n.queries);  // so many at the front
      Vector<T>& row = vector_at(scores[k]);
      row = query < static_cast<T>(blind) ? Vector<T>{} + kHidden<T> : row;
    }
  }
  if (!padding) return;
  for (int64_t k = 0; k < count; ++k) {
    if (padding[j + k] != 0) std::fill_n(scores[k], kVectorLength<T>, kHidden<T>);
  }
}

// x[k, :] = exp(x[k, :] - shift[:])
template <class T>
void exp_in_place(const T* shift, int64_t count, const Scratch<T>& x) {
  for (int64_t k = 0; k < count; ++k) {
    T* row = x[k];
#pragma omp simd
    for (int64_t i = 0; i < kVectorLength<T>; ++i) row[i] = math::exp(row[i] - shift[i]);
  }
}

template <class T>
void scale_row(T* row, int64_t columns, T factor) {
  for (int64_t d = 0; d < columns; d += kVectorLength<T>) vector_at(row + d) *= factor;
}

// What one thread needs for the forward of a head, and for the backward.
template <class T>
struct ForwardScratch {
  ForwardScratch(Workspace<T>& space, const Sizes& n)
      : weights(space, std::min(n.keys, kKeys), kVectorLength<T>),
        query_t(space, n.width, kVectorLength<T>),
        largest(space, 1, n.queries),
        total(space, 1, n.queries) {}

  Scratch<T> weights;         // [keys of a block, queries of a vector]
  Scratch<T> query_t;         // [D, queries of a vector]
  Scratch<T> largest, total;  // of each query, over the keys so far: max(S), sum(exp(S - max(S)))
};

// All rows are whole vectors; output begins as zeros.
template <class T>
void attend(const Sizes& n, Rows<const T> query, Rows<const T> key, Rows<const T> value,
            const uint8_t* padding, T scale, const ForwardScratch<T>& s, Rows<T> output,
            T* log_sum_exp) {
  constexpr int64_t kQueries = kVectorLength<T>;
  const int64_t columns = whole_vectors<T>(n.width);
  s.total.zero();
  std::fill_n(s.largest.data(), s.largest.stride(), kHidden<T>);
  for (int64_t j = 0; j < n.keys; j += kKeys) {
    const int64_t block = std::min(kKeys, n.keys - j);
    for (int64_t i = 0; i < n.queries; i += kQueries) {
      const int64_t rows = std::min(kQueries, n.queries - i);
      const int64_t count = n.seen(i + rows - 1, j, block);
      if (count == 0) continue;
      gather_columns(query, i, rows, n.width, scale, s.query_t);
      small_product<T>(count, kQueries, n.width, {key[j], key.stride, 1}, s.query_t.data(),
                       s.query_t.stride(), false, s.weights.data(), s.weights.stride());
      hide(n, i, j, count, padding, s.weights);

      Vector<T>& largest = vector_at(s.largest.data() + i);
      Vector<T>& total = vector_at(s.total.data() + i);
      const Vector<T> before = largest;
      Vector<T> now = before;
      for (int64_t k = 0; k < count; ++k) {
        const Vector<T> scores = vector_at(s.weights[k]);
        now = scores > now ? scores : now;
      }
      largest = now;
      alignas(kVectorBytes) T shift[kQueries], factor[kQueries];  // 0 for a query that sees nothing
      vector_at(shift) = now == kHidden<T> ? Vector<T>{} : now;
      vector_at(factor) = before - vector_at(shift);
#pragma omp simd
      for (int64_t q = 0; q < kQueries; ++q) factor[q] = math::exp(factor[q]);
      exp_in_place(shift, count, s.weights);
      Vector<T> sum = {};
      for (int64_t k = 0; k < count; ++k) sum += vector_at(s.weights[k]);
      total = total * vector_at(factor) + sum;

      for (int64_t q = 0; j > 0 && q < rows; ++q) scale_row(output[i + q], columns, factor[q]);
      small_product<T>(rows, columns, count, s.weights.transposed(), value[j], value.stride, true,
                       output[i], output.stride);
    }
  }
  for (int64_t i = 0; i < n.queries; ++i) {
    const T total = s.total.data()[i], largest = s.largest.data()[i];
    const bool sees_nothing = total == T(0);
    scale_row(output[i], columns, sees_nothing ? T(0) : T(1) / total);
    log_sum_exp[i] = sees_nothing ? T(0) : largest + math::log(total);
  }
}

template <class T>
struct BackwardScratch {
  BackwardScratch(Workspace<T>& space, const Sizes& n)
      : weights(space, std::min(n.keys, kKeys), kVectorLength<T>),
        dscores(space, std::min(n.keys, kKeys), kVectorLength<T>),
        query_t(space, n.width, kVectorLength<T>),
        doutput_t(space, n.width, kVectorLength<T>),
        output_t(space, n.width, kVectorLength<T>),
        dots(space, 1, n.queries),
        shifts(space, 1, n.queries) {}

  Scratch<T> weights, dscores;              // [keys of a block, queries of a vector]
  Scratch<T> query_t, doutput_t, output_t;  // [D, queries of a vector]
  Scratch<T> dots, shifts;                  // of each query: sum_D(dO O), and log_sum_exp
};

// dquery, dkey and dvalue begin as zeros.
template <class T>
void attend_backward(const Sizes& n, Rows<const T> query, Rows<const T> key, Rows<const T> value,
                     const uint8_t* padding, T scale, Rows<const T> output, const T* log_sum_exp,
                     Rows<const T> doutput, const BackwardScratch<T>& s, Rows<T> dquery,
                     Rows<T> dkey, Rows<T> dvalue) {
  constexpr int64_t kQueries = kVectorLength<T>;
  const int64_t columns = whole_vectors<T>(n.width);
  s.shifts.zero();
  std::copy_n(log_sum_exp, n.queries, s.shifts.data());
  for (int64_t j = 0; j < n.keys; j += kKeys) {
    const int64_t block = std::min(kKeys, n.keys - j);
    for (int64_t i = 0; i < n.queries; i += kQueries) {
      const int64_t rows = std::min(kQueries, n.queries - i);
      const int64_t count = n.seen(i + rows - 1, j, block);
      if (count == 0) continue;
      gather_columns(query, i, rows, n.width, scale, s.query_t);
      gather_columns(doutput, i, rows, n.width, T(1), s.doutput_t);
      small_product<T>(count, kQueries, n.width, {key[j], key.stride, 1}, s.query_t.data(),
                       s.query_t.stride(), false, s.weights.data(), s.weights.stride());
      small_product<T>(count, kQueries, n.width, {value[j], value.stride, 1}, s.doutput_t.data(),
                       s.doutput_t.stride(), false, s.dscores.data(), s.dscores.stride());
      hide(n, i, j, count, padding, s.weights);
      exp_in_place(s.shifts.data() + i, count, s.weights);
      Vector<T>& dots = vector_at(s.dots.data() + i);
      if (j == 0) {  // before any other block of keys that these queries see
        gather_columns(output, i, rows, n.width, T(1), s.output_t);
        dots = Vector<T>{};
        for (int64_t d = 0; d < n.width; ++d) {
          dots += vector_at(s.output_t[d]) * vector_at(s.doutput_t[d]);
        }
      }
      for (int64_t k = 0; k < count; ++k) {
        Vector<T>& ds = vector_at(s.dscores[k]);
        ds = vector_at(s.weights[k]) * (ds - dots) * scale;
      }
      small_product<T>(count, columns, rows, s.weights.rows(), doutput[i], doutput.stride, true,
                       dvalue[j], dvalue.stride);
      small_product<T>(count, columns, rows, s.dscores.rows(), query[i], query.stride, true,
                       dkey[j], dkey.stride);
      small_product<T>(rows, columns, count, s.dscores.transposed(), key[j], key.stride, true,
                       dquery[i], dquery.stride);
    }
  }
}

// Calls f(b, h, scratch) for every head of every sequence, where they hold anything.
template <class Scratch, class F>
void for_each_head(const Array& query, const Array& key, const Sizes& n, F f) {
  if (query.size() == 0 && key.size() == 0) return;
  const int64_t flops = std::max<int64_t>(1, 4 * n.queries * n.keys * n.width);
  parallel_for(query.shape()[0] * n.heads, std::max<int64_t>(1, kFlops / flops),
               [&](int64_t begin, int64_t end) {
                 const Scratch scratch(n);
                 for (int64_t head = begin; head < end; ++head) {
                   f(head / n.heads, head % n.heads, scratch);
                 }
               });
}

// The products that the formula has, for whoever counts them.
void record(const Array& query, const Sizes& n, bool backward) {
  const int64_t heads = query.shape()[0] * n.heads;
  const Shape of_queries{heads, n.queries, n.width}, of_keys{heads, n.keys, n.width},
      scores{heads, n.queries, n.keys};
  const DType dtype = computed_dtype(query.dtype());
  const auto product = [&](const Shape& a, const Shape& b, const Shape& c, bool transpose_a,
                           bool transpose_b) {
    record_product({.a = a,
                    .b = b,
                    .c = c,
                    .transpose_a = transpose_a,
                    .transpose_b = transpose_b,
                    .operand_dtype = dtype,
                    .result_dtype = dtype});
  };
  product(of_queries, of_keys, scores, false, true);   // Q Kᵀ, dO Vᵀ
  product(scores, of_keys, of_queries, false, false);  // P V, dS K
  if (!backward) return;
  product(scores, of_queries, of_keys, true, false);  // Pᵀ dO
  product(scores, of_queries, of_keys, true, false);  // dSᵀ Q
}

const uint8_t* padding_of(const AttentionMasks& masks, int64_t b, const Sizes& n) {
  return masks.padding ? mask_bytes(*masks.padding) + b * n.keys : nullptr;
}

}  // namespace

void attention(const Array& query, const Array& key, const Array& value,
               const AttentionMasks& masks, double scale, Array& output, Array& log_sum_exp) {
  dispatch_stored("attention", query.dtype(), [&](auto zero) {
    using X = decltype(zero);
    using T = Computed<X>;
    const Sizes n = sizes_of(query, key, masks.causal);
    record(query, n, /*backward=*/false);
    T* lse = log_sum_exp.mutable_data<T>();
    struct Needs {
      explicit Needs(const Sizes& n)
          : query(space, n.queries, n.width),
            key(space, n.keys, n.width),
            value(space, n.keys, n.width),
            output(space, n.queries, n.width),
            scratch(space, n) {}
      Workspace<T> space;
      HeadRows<X> query, key, value, output;
      ForwardScratch<T> scratch;
    };
    for_each_head<Needs>(query, key, n, [&](int64_t b, int64_t h, const Needs& s) {
      attend<T>(n, s.query.load(query, b, h), s.key.load(key, b, h), s.value.load(value, b, h),
                padding_of(masks, b, n), static_cast<T>(scale), s.scratch,
                s.output.zeros(output, b, h), lse + (b * n.heads + h) * n.queries);
      s.output.store(output, b, h);
    });
  });
}

void attention_backward(const Array& query, const Array& key, const Array& value,
                        const AttentionMasks& masks, double scale, const Array& output,
                        const Array& log_sum_exp, const Array& doutput, Array& dquery, Array& dkey,
                        Array& dvalue) {
  dispatch_stored("attention_backward", query.dtype(), [&](auto zero) {
    using X = decltype(zero);
    using T = Computed<X>;
    const Sizes n = sizes_of(query, key, masks.causal);
    record(query, n, /*backward=*/true);
    const T* lse = log_sum_exp.data<T>();
    struct Needs {
      explicit Needs(const Sizes& n)
          : query(space, n.queries, n.width),
            output(space, n.queries, n.width),
            doutput(space, n.queries, n.width),
            dquery(space, n.queries, n.width),
            key(space, n.keys, n.width),
            value(space, n.keys, n.width),
            dkey(space, n.keys, n.width),
            dvalue(space, n.keys, n.width),
            scratch(space, n) {}
      Workspace<T> space;
      HeadRows<X> query, output, doutput, dquery;
      HeadRows<X> key, value, dkey, dvalue;
      BackwardScratch<T> scratch;
    };
    for_each_head<Needs>(query, key, n, [&](int64_t b, int64_t h, const Needs& s) {
      attend_backward<T>(n, s.query.load(query, b, h), s.key.load(key, b, h),
                         s.value.load(value, b, h), padding_of(masks, b, n), static_cast<T>(scale),
                         s.output.load(output, b, h), lse + (b * n.heads + h) * n.queries,
                         s.doutput.load(doutput, b, h), s.scratch, s.dquery.zeros(dquery, b, h),
                         s.dkey.zeros(dkey, b, h), s.dvalue.zeros(dvalue, b, h));
      s.dquery.store(dquery, b, h);
      s.dkey.store(dkey, b, h);
      s.dvalue.store(dvalue, b, h);
    });
  });
}

}  // namespace qkv::kernels
