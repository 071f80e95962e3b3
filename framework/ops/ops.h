#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "framework/core/random.h"
#include "framework/graph/tensor.h"

// Every differentiable function of tensors. The formula, forward and backward of each stand in the
// file of its name. Misuse throws Error with the op, the shapes, and the clash. `axis` may count
// from the end.
namespace qkv {

// Element by element; shapes broadcast as in NumPy, dtypes must be equal.
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, const Tensor& b);      // a >= 0 where the gradient of b is asked for
Tensor maximum(const Tensor& a, const Tensor& b);  // where equal, each gets half of the gradient

// A tensor and a number.
Tensor scale(const Tensor& x, double factor);
Tensor add_scalar(const Tensor& x, double term);
Tensor div(const Tensor& x, double divisor);  // x times 1 / divisor
Tensor pow(const Tensor& x, double exponent);

Tensor neg(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);  // 1 / sqrt(x)
Tensor erf(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);  // its derivative at 0 is 0
enum class GeluForm { kErf, kTanh };
Tensor gelu(const Tensor& x, GeluForm form = GeluForm::kErf);
Tensor silu(const Tensor& x);

// Masks are boolean and broadcast; no gradient flows to them.
Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b);     // mask ? a : b
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);  // mask ? value : x

// Matrix products over the last two axes; the axes before them broadcast.
//   [..., M, K] x [..., K, N] -> [..., M, N]
struct MatmulOptions {
  bool transpose_a = false;  // a is [..., K, M]
  bool transpose_b = false;  // b is [..., N, K]
  bool bf16_result = false;  // only for bf16 operands; their product is f32 otherwise
};
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});
class RoundedWeight;  // framework/ops/support/bf16.h
// x [..., K], weight [N, K], bias [N] or undefined -> [..., N]: x weightᵀ + bias in one product. An
// x in bf16 is multiplied by an f32 weight that is rounded to bf16; sums and bias are f32.
struct LinearOptions {
  bool bf16_result = false;  // only for an x in bf16; the result is f32 otherwise
  // Caches the rounded weight while the weight does not change; nullptr: every call rounds it.
  std::shared_ptr<RoundedWeight> rounded_weight = nullptr;
};
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const LinearOptions& options = {});

// The keys that a query sees, and the bias of its scores. Query i is at the position of key
//   p = first_query + i
struct AttentionMask {
  bool causal = false;  // no key after p
  // Only keys less than `window` away from p: with `causal` the last `window` up to p, else
  // 2 window - 1 around it. 0: no limit. Beltagy et al., "Longformer", 2020; Jiang et al., "Mistral
  // 7B", 2023.
  int64_t window = 0;
  // 0 … Tk. By default the last query is at the position of the last key: Tk - Tq.
  std::optional<int64_t> first_query = std::nullopt;
  Tensor padding = Tensor();  // boolean [B, Tk], true at keys that no query sees; undefined: none
  // Added to the scores before the softmax: [H, Tq, Tk], or any shape that broadcasts to [B, H, Tq,
  // Tk], in the number type of the scores, which is f32 where the queries are bf16. It has a
  // gradient.
  Tensor bias = Tensor();
  // Replaces `bias`; it depends on the distance only, so that memory grows with the length and not
  // with its square: [H, Tq + Tk - 1]; query i and key j use number i - j + Tk - 1.
  Tensor relative_bias = Tensor();
};

// dropout(softmax(scale Q Kᵀ + bias)) V for every head of every sequence, in memory that grows with
// the length and not with its square, and in time that grows with the number of keys that are seen.
// framework/ops/support/scaled_dot_product_attention.h has the formula step by step.
//   query [B, Tq, H, D], key and value [B, Tk, H, D] -> [B, Tq, H, D]
struct AttentionOptions {
  AttentionMask mask = {};
  double scale = 1.0;  // of the scores
  // Dropout of the weights: the same as the op dropout on [B, H, Tq, Tk] with this stream.
  double dropout = 0.0;
  RandomStream stream{0};
};
// A query that sees no key gets zeros. Keys that a mask or a bias of -inf hides have no effect,
// forward or backward, even if they are inf or NaN; nor has a query whose gradient is 0.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const AttentionOptions& options = {});

// Rotates each pair of features of a head by an angle that grows with the position, so that the
// product of a query and a key depends on their distance. Token t is at first_position + t.
//   x [B, T, H, D], D even -> [B, T, H, D]                                  Su et al. 2021
Tensor rotary(const Tensor& x, int64_t first_position, double base = 10000.0);

// Convolution over time, as PyTorch's Conv1d: tap k of position t reads x[t + k - before], zeros
// beyond the ends. With before = K - 1 it is causal, with (K - 1) / 2 centred.
//   x [B, T, C], weight [N, C, K], bias [N] or undefined -> [B, T, N]; x may be bf16, as in linear
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t before);
// Convolves each of the C features separately.
//   x [B, T, C], weight [C, 1, K], bias [C] or undefined -> [B, T, C]
Tensor depthwise_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             int64_t before);
// The inputs of the K taps, concatenated: x [B, T, C] -> [B, T, K C]; and the transpose of that.
Tensor unfold(const Tensor& x, int64_t kernel, int64_t before);
Tensor fold(const Tensor& x, int64_t kernel, int64_t before);

// The state of a position depends on the previous state and on its x. `first` is the state before
// the first position; undefined: zeros.
struct ScanOptions {
  Tensor first = Tensor();
  bool reverse = false;       // the first position is the last one
  Tensor padding = Tensor();  // boolean [B, T], true where the state stays what it was
};
// PyTorch's RNN and LSTM, whose weight_hh is W, and x their W_ih x + b_ih + b_hh:
//   rnn    h' = tanh(x + W h)                   x [B, T, H], W [H, H] -> h' [B, T, H]
//   lstm   [i, f, g, o] = x + W h,  c' = sigmoid(f) c + sigmoid(i) tanh(g),
//          h' = sigmoid(o) tanh(c')             x [B, T, 4 H], W [4 H, H] -> [h', c'] [B, T, 2 H]
// `first` is h [B, H], or [h, c] [B, 2 H].
Tensor rnn(const Tensor& x, const Tensor& weight, const ScanOptions& options = {});
Tensor lstm(const Tensor& x, const Tensor& weight, const ScanOptions& options = {});

// Shapes. In reshape, one size may be -1: it is inferred.
Tensor reshape(const Tensor& x, std::span<const int64_t> shape);
Tensor reshape(const Tensor& x, std::initializer_list<int64_t> shape);
Tensor reshape(const Tensor& x, const Shape& shape);  // else a span of the shape's size() sizes
Tensor permute(const Tensor& x,
               const std::vector<int>& axes);  // axis k of the result is axes[k] of x
Tensor transpose(const Tensor& x, int axis_a, int axis_b);
Tensor concat(const std::vector<Tensor>& pieces, int axis);
Tensor stack(const std::vector<Tensor>& pieces, int axis);  // along a new axis
Tensor slice(const Tensor& x, int axis, int64_t start, int64_t length);
// The inverse of slice: x at `start` of an axis of `size`, zeros around it.
Tensor pad(const Tensor& x, int axis, int64_t start, int64_t size);
std::vector<Tensor> split(const Tensor& x, int axis,
                          int64_t pieces);  // of equal length; at most 2^20
Tensor broadcast_to(const Tensor& x, const Shape& shape);
Tensor sum_to(const Tensor& x, const Shape& shape);  // the transpose of broadcast_to

// Reductions: over every axis to a scalar, or over one.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, int axis, bool keep_axis = false);
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, int axis, bool keep_axis = false);
Tensor max(const Tensor& x, int axis,
           bool keep_axis = false);  // the first of equals gets the gradient
// correction 0: divided by N; 1: by N - 1.
Tensor variance(const Tensor& x, int axis, int64_t correction = 0, bool keep_axis = false);

// Over the last axis. A row of nothing but -inf (every key masked) gives zeros.
Tensor softmax(const Tensor& x);
Tensor log_softmax(const Tensor& x);

struct CrossEntropyOptions {
  int64_t ignored = -1;          // the target of positions that do not count
  double label_smoothing = 0.0;  // spread evenly over all classes
  // Divides the sum of the losses. 0: by the number of positions that count, which gives their
  // mean. Pieces of a batch, each divided by the count of the whole, add up to the loss of the
  // whole.
  double divisor = 0.0;
};
// logits [..., V], targets i64 [...] -> scalar; 0 where every target is ignored
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

// Over the last axis of x [..., C]; weight and bias are [C], an undefined bias is 0.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon = 1e-5);
Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon = 1e-5);

// Rows of a table: table [V, C], index i64 [...] -> [..., C]
Tensor embedding(const Tensor& table, const Tensor& index);
// y[..., i, ...] = x[..., index[..., i, ...], ...] along `axis`; index i64, of x's shape but for
// `axis`
Tensor gather(const Tensor& x, int axis, const Tensor& index);
// The transpose of gather: x and index of one shape, summed into an axis of `size`.
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, int64_t size);
Tensor one_hot(const Tensor& index, int64_t classes,
               DType dtype = DType::f32);  // [...] -> [..., classes]

// Zero with probability p, else x / (1 - p). The stream decides: the same stream, the same mask.
Tensor dropout(const Tensor& x, double p, const RandomStream& stream);

Tensor cast(const Tensor& x, DType dtype);  // between floating types, or from a mask or indices

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator+(const Tensor& x, double term) { return add_scalar(x, term); }
inline Tensor operator+(double term, const Tensor& x) { return add_scalar(x, term); }
inline Tensor operator-(const Tensor& x, double term) { return add_scalar(x, -term); }
inline Tensor operator-(double term, const Tensor& x) { return add_scalar(neg(x), term); }
inline Tensor operator*(const Tensor& x, double factor) { return scale(x, factor); }
inline Tensor operator*(double factor, const Tensor& x) { return scale(x, factor); }
inline Tensor operator/(const Tensor& x, double divisor) { return div(x, divisor); }

}  // namespace qkv
