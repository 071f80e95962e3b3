#include "framework/kernels/attention/fused_attention.h"

#include <algorithm>
#include <atomic>

#include "framework/kernels/attention/attention_scores.h"
#include "framework/kernels/attention/head_rows.h"
#include "framework/kernels/elementwise/vector_math.h"
#include "framework/kernels/parallel.h"
#include "framework/kernels/product/product_log.h"
#include "framework/kernels/product/small_product.h"

namespace qkv::kernels {
namespace {

constexpr int64_t kFlops = 1'000'000;  // worth a piece

// x[k, :] = exp(x[k, :] - shift[:]); with kZeros it is 0 for -inf, whatever the shift is.
template <bool kZeros, class T>
void exp_in_place(const T* shift, int64_t count, const Scratch<T>& x) {
  for (int64_t k = 0; k < count; ++k) {
    T* row = x[k];
#pragma omp simd
    for (int64_t i = 0; i < kVectorLength<T>; ++i) {
      const T e = math::exp(row[i] - shift[i]);
      row[i] = kZeros && row[i] == kHidden<T> ? T(0) : e;
    }
  }
}

// small_product; with kZeros a term is 0 where a factor is.
template <bool kZeros, class T>
void product(int64_t rows, int64_t columns, int64_t depth, Strided<T> a, const T* b, int64_t b_row,
             bool add, T* c, int64_t c_row) {
  if constexpr (!kZeros) return small_product<T>(rows, columns, depth, a, b, b_row, add, c, c_row);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; j += kVectorLength<T>) {
      Vector<T>& sum = vector_at(c + i * c_row + j);
      if (!add) sum = Vector<T>{};
      for (int64_t k = 0; k < depth; ++k) {
        const Vector<T> left = Vector<T>{} + a.data[i * a.row + k * a.column];
        sum = plus_times<true>(sum, left, vector_at(b + k * b_row + j));
      }
    }
  }
}

template <class T>
bool are_finite(Rows<T> rows, int64_t count, int64_t columns) {
  auto is_nan = Vector<T>{} != Vector<T>{};
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t d = 0; d < columns; d += kVectorLength<T>) {
      const Vector<T> zeros = vector_at(rows[i] + d) - vector_at(rows[i] + d);
      is_nan |= zeros != zeros;
    }
  }
  bool result = true;
  for (int64_t q = 0; q < kVectorLength<T>; ++q) result &= is_nan[q] == 0;
  return result;
}

template <class T>
void scale_row(T* row, int64_t columns, T factor) {
  for (int64_t d = 0; d < columns; d += kVectorLength<T>) vector_at(row + d) *= factor;
}

// The memory of one thread for the forward of a head, and for the backward.
template <class T>
struct ForwardScratch {
  ForwardScratch(Workspace<T>& space, const AttentionSizes& n, bool drops)
      : weights(space, std::min(n.keys, kKeys), kVectorLength<T>),
        kept(space, drops ? std::min(n.keys, kKeys) : 0, kVectorLength<T>),
        kept_rows(space, drops ? kVectorLength<T> : 0, std::min(n.keys, kKeys)),
        query_t(space, n.width, kVectorLength<T>),
        largest(space, 1, n.queries),
        total(space, 1, n.queries) {}

  Scratch<T> weights, kept;   // [keys of a tile, queries of a vector]
  Scratch<T> kept_rows;       // [queries of a vector, keys of a tile]
  Scratch<T> query_t;         // [D, queries of a vector]
  Scratch<T> largest, total;  // of each query, over the keys so far: max(S), sum(exp(S - max(S)))
};

// All rows are whole vectors; output begins as zeros. With kZeros, masked elements have no effect
// even where they are inf or NaN, and all else is the same to the bit: that takes longer, and is
// only done where a result is not finite without it. Two forms would not be inlined as one is: 5 %
// slower.
template <bool kZeros, class T>
[[gnu::flatten]] void attend(const AttentionSizes& n, Rows<const T> query, Rows<const T> key,
                             Rows<const T> value, const ScoresOfHead<T>& head,
                             const ForwardScratch<T>& s, Rows<T> output, T* log_sum_exp) {
  constexpr int64_t kQueries = kVectorLength<T>;
  const int64_t columns = whole_vectors<T>(n.width);
  s.total.zero();
  std::fill_n(s.largest.data(), s.largest.stride(), kHidden<T>);
  for_each_tile<T>(n, [&](const Tile& tile) {
    const auto [i, rows, j, count, is_first] = tile;
    gather_columns(query, i, rows, n.width, head.scale, s.query_t);
    small_product<T>(count, kQueries, n.width, {key[j], key.stride, 1}, s.query_t.data(),
                     s.query_t.stride(), false, s.weights.data(), s.weights.stride());
    head.template finish<kZeros>(n, tile, s.weights);

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
    exp_in_place<kZeros>(shift, count, s.weights);
    Vector<T> sum = {};
    for (int64_t k = 0; k < count; ++k) sum += vector_at(s.weights[k]);
    total = total * vector_at(factor) + sum;

    if (head.dropout.is_active()) {
      head.dropout.draw(tile, s.kept_rows, s.kept);
      multiply_tile<kZeros>(tile, s.weights, s.kept);
    }
    for (int64_t q = 0; !is_first && q < rows; ++q) scale_row(output[i + q], columns, factor[q]);
    product<kZeros, T>(rows, columns, count, s.weights.transposed(), value[j], value.stride, true,
                       output[i], output.stride);
  });
  for (int64_t i = 0; i < n.queries; ++i) {
    const T total = s.total.data()[i], largest = s.largest.data()[i];
    const bool sees_nothing = total == T(0);
    scale_row(output[i], columns, sees_nothing ? T(0) : T(1) / total);
    log_sum_exp[i] = sees_nothing ? T(0) : largest + math::log(total);
  }
}

template <class T>
struct BackwardScratch {
  BackwardScratch(Workspace<T>& space, const AttentionSizes& n, bool drops)
      : weights(space, std::min(n.keys, kKeys), kVectorLength<T>),
        dscores(space, std::min(n.keys, kKeys), kVectorLength<T>),
        kept(space, drops ? std::min(n.keys, kKeys) : 0, kVectorLength<T>),
        kept_rows(space, drops ? kVectorLength<T> : 0, std::min(n.keys, kKeys)),
        query_t(space, n.width, kVectorLength<T>),
        doutput_t(space, n.width, kVectorLength<T>),
        output_t(space, n.width, kVectorLength<T>),
        dots(space, 1, n.queries),
        shifts(space, 1, n.queries) {}

  Scratch<T> weights, dscores, kept;        // [keys of a tile, queries of a vector]
  Scratch<T> kept_rows;                     // [queries of a vector, keys of a tile]
  Scratch<T> query_t, doutput_t, output_t;  // [D, queries of a vector]
  Scratch<T> dots, shifts;                  // of each query: sum_D(dO O), and log_sum_exp
};

// The gradients begin as zeros; that of the bias may have sums in it.
template <class T>
struct GradientsOfHead {
  Rows<T> query, key, value;
  BiasOfHead<T> bias;
};

template <bool kZeros, class T>
[[gnu::flatten]] void attend_backward(const AttentionSizes& n, Rows<const T> query,
                                      Rows<const T> key, Rows<const T> value,
                                      const ScoresOfHead<T>& head, Rows<const T> output,
                                      const T* log_sum_exp, Rows<const T> doutput,
                                      const BackwardScratch<T>& s,
                                      const GradientsOfHead<T>& gradients) {
  constexpr int64_t kQueries = kVectorLength<T>;
  const int64_t columns = whole_vectors<T>(n.width);
  s.shifts.zero();
  std::copy_n(log_sum_exp, n.queries, s.shifts.data());
  for_each_tile<T>(n, [&](const Tile& tile) {
    const auto [i, rows, j, count, is_first] = tile;
    gather_columns(query, i, rows, n.width, head.scale, s.query_t);
    gather_columns(doutput, i, rows, n.width, T(1), s.doutput_t);
    small_product<T>(count, kQueries, n.width, {key[j], key.stride, 1}, s.query_t.data(),
                     s.query_t.stride(), false, s.weights.data(), s.weights.stride());
    product<kZeros, T>(count, kQueries, n.width, {value[j], value.stride, 1}, s.doutput_t.data(),
                       s.doutput_t.stride(), false, s.dscores.data(), s.dscores.stride());
    head.template finish<kZeros>(n, tile, s.weights);
    exp_in_place<kZeros>(s.shifts.data() + i, count, s.weights);
    if (head.dropout.is_active()) {
      head.dropout.draw(tile, s.kept_rows, s.kept);
      multiply_tile<kZeros>(tile, s.dscores, s.kept);
    }
    Vector<T>& dots = vector_at(s.dots.data() + i);
    if (is_first) {
      gather_columns(output, i, rows, n.width, T(1), s.output_t);
      dots = Vector<T>{};
      for (int64_t d = 0; d < n.width; ++d) {
        dots = plus_times<kZeros>(dots, vector_at(s.output_t[d]), vector_at(s.doutput_t[d]));
      }
    }
    for (int64_t k = 0; k < count; ++k) {
      Vector<T>& ds = vector_at(s.dscores[k]);
      ds = plus_times<kZeros>(Vector<T>{}, vector_at(s.weights[k]), ds - dots);
    }
    gradients.bias.for_each(tile, s.dscores, [](const T& ds, T& sum) { sum += ds; });
    for (int64_t k = 0; k < count; ++k) vector_at(s.dscores[k]) *= head.scale;
    if (head.dropout.is_active()) multiply_tile<kZeros>(tile, s.weights, s.kept);
    product<kZeros, T>(count, columns, rows, s.weights.rows(), doutput[i], doutput.stride, true,
                       gradients.value[j], gradients.value.stride);
    product<kZeros, T>(count, columns, rows, s.dscores.rows(), query[i], query.stride, true,
                       gradients.key[j], gradients.key.stride);
    product<kZeros, T>(rows, columns, count, s.dscores.transposed(), key[j], key.stride, true,
                       gradients.query[i], gradients.query.stride);
  });
}

// Calls f(b, h, scratch) for every head of every sequence, where they hold anything. Heads that add
// to one part of a bias's gradient do so on one thread, one after the other: the sum has one order.
template <class Scratch, class F>
void for_each_head(const AttentionSizes& n, bool drops, const Array* dbias, F f) {
  if (n.width == 0 || n.queries + n.keys == 0) return;
  int64_t sequences = n.sequences, heads = n.heads;  // that are apart
  if (dbias) {
    const auto steps = broadcast_steps(dbias->shape());
    if (steps[0] == 0) sequences = std::min<int64_t>(1, sequences);
    if (steps[1] == 0) heads = std::min<int64_t>(1, heads);
  }
  const int64_t flops = std::max<int64_t>(1, 4 * n.queries * n.keys * n.width);
  parallel_for(sequences * heads, std::max<int64_t>(1, kFlops / flops),
               [&](int64_t begin, int64_t end) {
                 const Scratch scratch(n, drops);
                 for (int64_t part = begin; part < end; ++part) {
                   for (int64_t b = part / heads; b < n.sequences; b += sequences) {
                     for (int64_t h = part % heads; h < n.heads; h += heads) f(b, h, scratch);
                   }
                 }
               });
}

// The products that the formula has, for whoever counts them: in a window, of each query and as
// many keys as one sees.
void record(const Array& query, const AttentionSizes& n, bool backward) {
  int64_t keys = n.keys;
  if (n.rule.window > 0) {
    keys = 0;
    for (int64_t i = 0; i < n.queries; ++i) {
      const KeyRange seen = n.rule.of(i, n.keys);
      keys = std::max(keys, seen.last - seen.first);
    }
  }
  const int64_t heads = query.shape()[0] * n.heads;
  const Shape query_shape{heads, n.queries, n.width}, key_shape{heads, keys, n.width},
      scores{heads, n.queries, keys};
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
  product(query_shape, key_shape, scores, false, true);   // Q Kᵀ, dO Vᵀ
  product(scores, key_shape, query_shape, false, false);  // P V, dS K
  if (!backward) return;
  product(scores, query_shape, key_shape, true, false);  // Pᵀ dO
  product(scores, query_shape, key_shape, true, false);  // dSᵀ Q
}

}  // namespace

void attention(const Array& query, const Array& key, const Array& value,
               const AttentionArguments& arguments, Array& output, Array& log_sum_exp) {
  dispatch_stored("attention", query.dtype(), [&]<class X>(X) {
    using T = Computed<X>;
    const AttentionSizes n(query, key, arguments.rule);
    record(query, n, /*backward=*/false);
    const DropoutWords words(arguments.stream, arguments.dropout);
    T* lse = log_sum_exp.mutable_data<T>();
    struct Needs {
      Needs(const AttentionSizes& n, bool drops)
          : query(space, n.queries, n.width),
            key(space, n.keys, n.width),
            value(space, n.keys, n.width),
            output(space, n.queries, n.width),
            scratch(space, n, drops) {}
      Workspace<T> space;
      HeadRows<X> query, key, value, output;
      ForwardScratch<T> scratch;
    };
    const WritableHeads<X> outputs(output);
    std::atomic<bool> is_finite = true;
    const auto attend_all = [&]<bool kZeros>() {
      const auto head = [&](int64_t b, int64_t h, const Needs& s) {
        const Rows<T> o = s.output.zeros(outputs, b, h);
        attend<kZeros, T>(n, s.query.load(query, b, h), s.key.load(key, b, h / n.queries_a_key),
                          s.value.load(value, b, h / n.queries_a_key),
                          scores_of_head<T>(arguments, words, n, b, h), s.scratch, o,
                          lse + (b * n.heads + h) * n.queries);
        if (!are_finite(o, n.queries, n.width)) is_finite = false;
        s.output.store(outputs, b, h);
      };
      for_each_head<Needs>(n, arguments.dropout > 0, /*dbias=*/nullptr, head);
    };
    attend_all.template operator()<false>();
    if (!is_finite) attend_all.template operator()<true>();
  });
}

void attention_backward(const Array& query, const Array& key, const Array& value,
                        const AttentionArguments& arguments, const Array& output,
                        const Array& log_sum_exp, const Array& doutput,
                        const AttentionGradients& gradients) {
  dispatch_stored("attention_backward", query.dtype(), [&]<class X>(X) {
    using T = Computed<X>;
    const AttentionSizes n(query, key, arguments.rule);
    record(query, n, /*backward=*/true);
    const DropoutWords words(arguments.stream, arguments.dropout);
    const T* lse = log_sum_exp.data<T>();
    T* dbias = gradients.bias ? gradients.bias->mutable_data<T>() : nullptr;
    struct Needs {
      Needs(const AttentionSizes& n, bool drops)
          : query(space, n.queries, n.width),
            output(space, n.queries, n.width),
            doutput(space, n.queries, n.width),
            dquery(space, n.queries, n.width),
            key(space, n.keys, n.width),
            value(space, n.keys, n.width),
            dkey(space, n.keys, n.width),
            dvalue(space, n.keys, n.width),
            scratch(space, n, drops) {}
      Workspace<T> space;
      HeadRows<X> query, output, doutput, dquery;
      HeadRows<X> key, value, dkey, dvalue;
      BackwardScratch<T> scratch;
    };
    const WritableHeads<X> dquery(gradients.query), dkey(gradients.key), dvalue(gradients.value);
    std::atomic<bool> is_finite = true;
    const auto attend_all = [&]<bool kZeros>() {
      if (dbias) std::fill_n(dbias, gradients.bias->size(), T(0));
      const auto head = [&](int64_t b, int64_t h, const Needs& s) {
        const GradientsOfHead<T> head_gradients = {
            s.dquery.zeros(dquery, b, h), s.dkey.zeros(dkey, b, h), s.dvalue.zeros(dvalue, b, h),
            dbias
                ? bias_of_head(dbias, gradients.bias->shape(), arguments.bias_is_relative, n, b, h)
                : BiasOfHead<T>()};
        attend_backward<kZeros, T>(n, s.query.load(query, b, h),
                                   s.key.load(key, b, h / n.queries_a_key),
                                   s.value.load(value, b, h / n.queries_a_key),
                                   scores_of_head<T>(arguments, words, n, b, h),
                                   s.output.load(output, b, h), lse + (b * n.heads + h) * n.queries,
                                   s.doutput.load(doutput, b, h), s.scratch, head_gradients);
        // A NaN in a value's gradient means one in its key's, too.
        if (!(are_finite(head_gradients.query, n.queries, n.width) &&
              are_finite(head_gradients.key, n.keys, n.width))) {
          is_finite = false;
        }
        s.dquery.store(dquery, b, h);
        s.dkey.store(dkey, b, h);
        s.dvalue.store(dvalue, b, h);
      };
      const Array* shared = arguments.bias_is_relative ? nullptr : gradients.bias;
      for_each_head<Needs>(n, arguments.dropout > 0, shared, head);
    };
    attend_all.template operator()<false>();
    if (!is_finite) attend_all.template operator()<true>();
  });
}

}  // namespace qkv::kernels
