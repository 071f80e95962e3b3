#include "framework/kernels/attention.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/kernels/convert.h"
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

// One sequence's queries (or keys, values, …) for one head, in [B, T, H, D].
template <class T>
struct Rows {
  T* data;
  int64_t stride;
  T* operator[](int64_t i) const { return data + i * stride; }
};

template <class T>
Rows<const T> rows_of(const Array& x, int64_t b, int64_t h) {
  const Shape& s = x.shape();
  return {x.data<T>() + (b * s[1] * s[2] + h) * s[3], s[2] * s[3]};
}

template <class T>
Rows<T> mutable_rows_of(Array& x, int64_t b, int64_t h) {
  const Shape& s = x.shape();
  return {x.mutable_data<T>() + (b * s[1] * s[2] + h) * s[3], s[2] * s[3]};
}

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

// Memory for one thread's scratch matrices. To ask for each of them would take as long as a head.
template <class T>
class Workspace {
 public:
  T* take(int64_t count) {
    if (left_ < count) {
      constexpr int64_t kAtATime = 16384;
      left_ = std::max(count, kAtATime);
      next_ = arrays_.emplace_back(Shape{left_}, dtype_of<T>).template mutable_data<T>();
    }
    left_ -= count;
    return std::exchange(next_, next_ + count);
  }

 private:
  std::vector<Array> arrays_;
  T* next_ = nullptr;
  int64_t left_ = 0;
};

// A matrix on one thread; rows begin at whole vectors.
template <class T>
class Scratch {
 public:
  Scratch(Workspace<T>& space, int64_t rows, int64_t columns)
      : rows_(rows), stride_(whole_vectors<T>(columns)), data_(space.take(rows * stride_)) {}

  T* operator[](int64_t i) const { return data_ + i * stride_; }
  T* data() const { return data_; }
  int64_t stride() const { return stride_; }
  Rows<T> all() const { return {data_, stride_}; }
  Strided<T> rows() const { return {data_, stride_, 1}; }
  Strided<T> transposed() const { return {data_, 1, stride_}; }
  void zero() const { std::fill_n(data_, rows_ * stride_, T(0)); }

 private:
  int64_t rows_, stride_;
  T* data_;
};

template <class T>
bool is_whole_vectors(int64_t n) {
  return n % kVectorLength<T> == 0;
}

// The rows first, first + 1 …: those of the matrix where they are whole vectors, else copies that
// zeros fill up.
template <class T>
Rows<const T> whole_rows(Rows<const T> from, int64_t first, int64_t count, int64_t width,
                         const Scratch<T>& copies) {
  if (is_whole_vectors<T>(width)) return {from[first], from.stride};
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(from[first + i], width, copies[i]);
    std::fill(copies[i] + width, copies[i] + copies.stride(), T(0));
  }
  return {copies.data(), copies.stride()};
}

// Rows of sums, zero to begin with: those of the matrix where they are whole vectors, else others
// that `store` copies to it.
template <class T>
class Sums {
 public:
  Sums(Rows<T> to, int64_t count, int64_t width, const Scratch<T>& scratch)
      : to_(to),
        rows_(is_whole_vectors<T>(width) ? to : scratch.all()),
        count_(count),
        width_(width) {
    if (stride() == columns()) {
      std::fill_n(rows_[0], count * stride(), T(0));
    } else {
      for (int64_t i = 0; i < count; ++i) std::fill_n(rows_[i], columns(), T(0));
    }
  }

  T* operator[](int64_t i) const { return rows_[i]; }
  int64_t stride() const { return rows_.stride; }
  int64_t columns() const { return whole_vectors<T>(width_); }

  void scale(int64_t i, T factor) const {
    for (int64_t d = 0; d < width_; d += kVectorLength<T>) vector_at(rows_[i] + d) *= factor;
  }

  void store() const {
    if (is_whole_vectors<T>(width_)) return;
    for (int64_t i = 0; i < count_; ++i) std::copy_n(rows_[i], width_, to_[i]);
  }

 private:
  Rows<T> to_, rows_;
  int64_t count_, width_;
};

// to[:, i] = factor from[first + i, :], with zeros up to a whole vector.
template <class T>
void gather_columns(Rows<const T> from, int64_t first, int64_t count, int64_t width, T factor,
                    const Scratch<T>& to) {
  constexpr int kLength = kVectorLength<T>;
  int64_t d = 0;
  for (; count == kLength && d + kLength <= width; d += kLength) {
    Vector<T> square[kLength];
#pragma GCC unroll 16
    for (int i = 0; i < kLength; ++i) square[i] = vector_at(from[first + i] + d) * factor;
    transpose<kLength / 2>(square);
#pragma GCC unroll 16
    for (int i = 0; i < kLength; ++i) vector_at(to[d + i]) = square[i];
  }
  for (; d < width; ++d) {
    T* column = to[d];
    for (int64_t i = 0; i < count; ++i) column[i] = factor * from[first + i][d];
    for (int64_t i = count; i < to.stride(); ++i) column[i] = 0;
  }
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

// What one thread needs for the forward of a head, and for the backward.
template <class T>
struct ForwardScratch {
  ForwardScratch(Workspace<T>& space, const Sizes& n)
      : values(space, std::min(n.keys, kKeys), n.width),
        weights(space, std::min(n.keys, kKeys), kVectorLength<T>),
        query_t(space, n.width, kVectorLength<T>),
        output(space, n.queries, n.width),
        largest(space, 1, n.queries),
        total(space, 1, n.queries) {}

  Scratch<T> values;   // [keys of a block, D]
  Scratch<T> weights;  // [keys of a block, queries of a vector]
  Scratch<T> query_t;  // [D, queries of a vector]
  Scratch<T> output;   // [Tq, D], not yet divided by `total`
  Scratch<T> largest,
      total;  // of each query, over the keys so far: max(S) and sum(exp(S - max(S)))
};

template <class T>
void attend(const Sizes& n, Rows<const T> query, Rows<const T> key, Rows<const T> value,
            const uint8_t* padding, T scale, const ForwardScratch<T>& s, Rows<T> output,
            T* log_sum_exp) {
  constexpr int64_t kQueries = kVectorLength<T>;
  const Sums<T> sums(output, n.queries, n.width, s.output);
  s.total.zero();
  std::fill_n(s.largest.data(), s.largest.stride(), kHidden<T>);
  for (int64_t j = 0; j < n.keys; j += kKeys) {
    const int64_t block = std::min(kKeys, n.keys - j);
    const Rows<const T> values = whole_rows(value, j, block, n.width, s.values);
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

      for (int64_t q = 0; j > 0 && q < rows; ++q) sums.scale(i + q, factor[q]);
      small_product<T>(rows, sums.columns(), count, s.weights.transposed(), values.data,
                       values.stride, true, sums[i], sums.stride());
    }
  }
  for (int64_t i = 0; i < n.queries; ++i) {
    const T total = s.total.data()[i], largest = s.largest.data()[i];
    const bool sees_nothing = total == T(0);
    sums.scale(i, sees_nothing ? T(0) : T(1) / total);
    log_sum_exp[i] = sees_nothing ? T(0) : largest + math::log(total);
  }
  sums.store();
}

template <class T>
struct BackwardScratch {
  BackwardScratch(Workspace<T>& space, const Sizes& n)
      : keys(space, std::min(n.keys, kKeys), n.width),
        dkeys(space, std::min(n.keys, kKeys), n.width),
        dvalues(space, std::min(n.keys, kKeys), n.width),
        weights(space, std::min(n.keys, kKeys), kVectorLength<T>),
        dscores(space, std::min(n.keys, kKeys), kVectorLength<T>),
        query_t(space, n.width, kVectorLength<T>),
        doutput_t(space, n.width, kVectorLength<T>),
        output_t(space, n.width, kVectorLength<T>),
        queries(space, kVectorLength<T>, n.width),
        doutputs(space, kVectorLength<T>, n.width),
        dqueries(space, n.queries, n.width),
        dots(space, 1, n.queries),
        shifts(space, 1, n.queries) {}

  Scratch<T> keys, dkeys, dvalues;          // [keys of a block, D]
  Scratch<T> weights, dscores;              // [keys of a block, queries of a vector]
  Scratch<T> query_t, doutput_t, output_t;  // [D, queries of a vector]
  Scratch<T> queries, doutputs;             // [queries of a vector, D]
  Scratch<T> dqueries;                      // [Tq, D]
  Scratch<T> dots, shifts;                  // of each query: sum_D(dO O), and log_sum_exp
};

template <class T>
void attend_backward(const Sizes& n, Rows<const T> query, Rows<const T> key, Rows<const T> value,
                     const uint8_t* padding, T scale, Rows<const T> output, const T* log_sum_exp,
                     Rows<const T> doutput, const BackwardScratch<T>& s, Rows<T> dquery,
                     Rows<T> dkey, Rows<T> dvalue) {
  constexpr int64_t kQueries = kVectorLength<T>;
  const Sums<T> dqueries(dquery, n.queries, n.width, s.dqueries);
  s.shifts.zero();
  std::copy_n(log_sum_exp, n.queries, s.shifts.data());
  for (int64_t j = 0; j < n.keys; j += kKeys) {
    const int64_t block = std::min(kKeys, n.keys - j);
    const Rows<const T> keys = whole_rows(key, j, block, n.width, s.keys);
    const Sums<T> dkeys({dkey[j], dkey.stride}, block, n.width, s.dkeys);
    const Sums<T> dvalues({dvalue[j], dvalue.stride}, block, n.width, s.dvalues);
    for (int64_t i = 0; i < n.queries; i += kQueries) {
      const int64_t rows = std::min(kQueries, n.queries - i);
      const int64_t count = n.seen(i + rows - 1, j, block);
      if (count == 0) continue;
      gather_columns(query, i, rows, n.width, scale, s.query_t);
      gather_columns(doutput, i, rows, n.width, T(1), s.doutput_t);
      const Rows<const T> queries = whole_rows(query, i, rows, n.width, s.queries);
      const Rows<const T> doutputs = whole_rows(doutput, i, rows, n.width, s.doutputs);
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
      small_product<T>(count, dvalues.columns(), rows, s.weights.rows(), doutputs.data,
                       doutputs.stride, true, dvalues[0], dvalues.stride());
      small_product<T>(count, dkeys.columns(), rows, s.dscores.rows(), queries.data, queries.stride,
                       true, dkeys[0], dkeys.stride());
      small_product<T>(rows, dqueries.columns(), count, s.dscores.transposed(), keys.data,
                       keys.stride, true, dqueries[i], dqueries.stride());
    }
    dkeys.store();
    dvalues.store();
  }
  dqueries.store();
}

// to = from, in another type.
template <class To, class From>
void convert_rows(Rows<const From> from, int64_t count, int64_t width, Rows<To> to) {
  if (!is_whole_vectors<float>(width)) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t d = 0; d < width; ++d) to[i][d] = convert<To>(from[i][d]);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t d = 0; d < width; d += kVectorLength<float>) {
      if constexpr (std::is_same_v<From, BFloat16>) {
        vector_at(to[i] + d) = widened(from[i] + d);
      } else {
        round_to(to[i] + d, vector_at(from[i] + d));
      }
    }
  }
}

// A head's rows in the type that they are computed with: the array's own, or copies of bf16 ones.
template <class X>
class HeadRows {
 public:
  using T = Computed<X>;

  HeadRows(Workspace<T>& space, int64_t rows, int64_t width) : rows_(rows), width_(width) {
    if constexpr (kCopies) copies_.emplace(space, rows, width);
  }

  Rows<const T> load(const Array& x, int64_t b, int64_t h) const {
    if constexpr (kCopies) {
      convert_rows<T, X>(rows_of<X>(x, b, h), rows_, width_, copies_->all());
      return {copies_->data(), copies_->stride()};
    } else {
      return rows_of<X>(x, b, h);
    }
  }

  // Where to write the rows that store() is called for then.
  Rows<T> results(Array& x, int64_t b, int64_t h) const {
    if constexpr (kCopies) {
      return copies_->all();
    } else {
      return mutable_rows_of<X>(x, b, h);
    }
  }

  void store(Array& x, int64_t b, int64_t h) const {
    if constexpr (kCopies) {
      convert_rows<X, T>({copies_->data(), copies_->stride()}, rows_, width_,
                         mutable_rows_of<X>(x, b, h));
    }
  }

 private:
  static constexpr bool kCopies = !std::is_same_v<X, T>;

  int64_t rows_, width_;
  std::optional<Scratch<T>> copies_;
};

// Calls f(b, h, scratch) for every head of every sequence.
template <class MakeScratch, class F>
void for_each_head(const Array& query, const Sizes& n, MakeScratch make_scratch, F f) {
  const int64_t flops = std::max<int64_t>(1, 4 * n.queries * n.keys * n.width);
  parallel_for(query.shape()[0] * n.heads, std::max<int64_t>(1, kFlops / flops),
               [&](int64_t begin, int64_t end) {
                 const auto scratch = make_scratch();
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
    const auto make_needs = [&] { return Needs(n); };
    for_each_head(query, n, make_needs, [&](int64_t b, int64_t h, const Needs& s) {
      attend<T>(n, s.query.load(query, b, h), s.key.load(key, b, h), s.value.load(value, b, h),
                padding_of(masks, b, n), static_cast<T>(scale), s.scratch,
                s.output.results(output, b, h), lse + (b * n.heads + h) * n.queries);
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
    const auto make_needs = [&] { return Needs(n); };
    for_each_head(query, n, make_needs, [&](int64_t b, int64_t h, const Needs& s) {
      attend_backward<T>(n, s.query.load(query, b, h), s.key.load(key, b, h),
                         s.value.load(value, b, h), padding_of(masks, b, n), static_cast<T>(scale),
                         s.output.load(output, b, h), lse + (b * n.heads + h) * n.queries,
                         s.doutput.load(doutput, b, h), s.scratch, s.dquery.results(dquery, b, h),
                         s.dkey.results(dkey, b, h), s.dvalue.results(dvalue, b, h));
      s.dquery.store(dquery, b, h);
      s.dkey.store(dkey, b, h);
      s.dvalue.store(dvalue, b, h);
    });
  });
}

}  // namespace qkv::kernels
