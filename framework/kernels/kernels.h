#pragma once

#include <cstdint>
#include <span>

#include "framework/core/array.h"
#include "framework/core/random.h"

// The arithmetic of the ops, but for matmul.h and attention.h. The file that each group is in is
// named with it.
namespace qkv::kernels {

// elementwise.cc: each function takes dense arrays of one shape (f32, f64 or f128; unary and binary
// also bf16, which they compute with as f32) and fills its last argument, of the same shape. The
// result may be one of the inputs.

// clang-format off
enum class Unary {
  neg, exp, log, sqrt, rsqrt, tanh, sigmoid, relu, erf,
  gelu_erf,   // x (1 + erf(x / sqrt(2))) / 2                            Hendrycks and Gimpel 2016
  gelu_tanh,  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))) / 2
  silu,       // x sigmoid(x)
};
// clang-format on
void unary(Unary f, const Array& x, Array& y);
// dx = dy f'(x), for the activations: tanh, sigmoid, relu, gelu_erf, gelu_tanh, silu.
void unary_backward(Unary f, const Array& x, const Array& dy, Array& dx);

enum class Binary { add, sub, mul, div, pow, maximum };
void binary(Binary f, const Array& a, const Array& b, Array& y);

void scale(const Array& x, Float128 factor, Array& y);     // y = x factor
void add_scalar(const Array& x, Float128 term, Array& y);  // y = x + term
void pow_scalar(const Array& x, Float128 exponent, Array& y);

enum class Comparison { less, less_equal, equal, greater, greater_equal };
void compare(Comparison f, const Array& a, const Array& b, Array& mask);  // mask: boolean

void where(const Array& mask, const Array& a, const Array& b, Array& y);  // y = mask ? a : b
void masked_fill(const Array& x, const Array& mask, double value, Array& y);

void cast(const Array& x, Array& y);  // any type to any type

bool all_finite(const Array& x);          // no NaN, no infinity; true for integers and booleans
Float128 sum_of_squares(const Array& x);  // in f64, of f128 in f128, in a fixed order

// copy.cc: these move elements of any type without reading them as numbers.

// Axis k of y is axis axes[k] of x.
void permute(const Array& x, std::span<const int> axes, Array& y);

// y = x repeated along axes where x has size 1 (or no axis) and y has more; aligned at the right.
void broadcast(const Array& x, Array& y);

// y = the part of x that starts at `start` along `axis`, as long as y is there.
void slice(const Array& x, int axis, int64_t start, Array& y);

// The part of y that starts at `start` along `axis` = x; the rest of y stays as it is.
void place(const Array& x, int axis, int64_t start, Array& y);

void zero(Array& y);

// index.cc: indices are i64. Every function but the first needs them in range: the ops check and
// report.

// The position of the first element of `index` outside 0 … bound - 1; -1 when all are inside.
int64_t out_of_range(const Array& index, int64_t bound);

// y[i, :] = table[index[i], :]        table [V, C], index [N], y [N, C]
void gather_rows(const Array& table, const Array& index, Array& y);
// dtable[index[i], :] += dy[i, :], in the order of i; dtable is set to zero first.
void scatter_add_rows(const Array& dy, const Array& index, Array& dtable);

// y[o, i, j] = x[o, index[o, i, j], j]    x [outer, n, inner], index and y [outer, m, inner]
void gather(const Array& x, const Array& index, int64_t outer, int64_t n, int64_t m, int64_t inner,
            Array& y);
// dx[o, index[o, i, j], j] += dy[o, i, j]; dx is set to zero first.
void scatter_add(const Array& dy, const Array& index, int64_t outer, int64_t n, int64_t m,
                 int64_t inner, Array& dx);

// y[i, c] = 1 where c = index[i], else 0       index [N], y [N, classes]
void one_hot(const Array& index, int64_t classes, Array& y);

// reduce.cc: x is read as [outer, n, inner] and reduced over the middle; y has outer * inner
// elements. The order of summation is fixed: the bits do not depend on the number of threads. An
// empty n sums to 0. The sums of bf16 numbers are f32.
void sum(const Array& x, int64_t outer, int64_t n, int64_t inner, Array& y);

// The largest along n, and where it first stands (i64). A NaN is the largest. n > 0.
void max(const Array& x, int64_t outer, int64_t n, int64_t inner, Array& y, Array& index);

// softmax.cc: over the last axis of [rows, C]. A row of nothing but -inf (all masked) gives zeros,
// not NaN, and -inf gives 0 in a row with NaN, too.
void softmax(const Array& x, Array& y);
// dx = y (dy - sum(y dy)); where y or dy is 0, the other one counts for nothing, even if it is NaN.
void softmax_backward(const Array& y, const Array& dy, Array& dx);

void log_softmax(const Array& x, Array& y);
// dx = dy - exp(y) sum(dy)
void log_softmax_backward(const Array& y, const Array& dy, Array& dx);

// Cross-entropy of each row against a target class, with label smoothing s:
//   loss[n] = -sum_c q[n, c] log p[n, c],  p = softmax(logits)
//   q = (1 - s) one_hot(target) + s / V
//   logits [N, V], targets [N] (i64), loss [N], log_sum_exp [N]
// A row whose target is `ignored` has loss 0.
void cross_entropy(const Array& logits, const Array& targets, int64_t ignored, double smoothing,
                   Array& loss, Array& log_sum_exp);
// dlogits[n, :] = (p[n, :] - q[n, :]) dloss[n]; 0 in ignored rows.
void cross_entropy_backward(const Array& logits, const Array& targets, const Array& log_sum_exp,
                            int64_t ignored, double smoothing, const Array& dloss, Array& dlogits);

// norm.cc: over the last axis of x [rows, C], with weight and bias [C]; mean and rstd [rows].
//   y = (x - mean) rstd weight + bias,  rstd = 1 / sqrt(var + epsilon)
// Ba, Kiros and Hinton 2016.
void layer_norm(const Array& x, const Array& weight, const Array& bias, double epsilon, Array& y,
                Array& mean, Array& rstd);
//   x̂ = (x - mean) rstd;  dweight = sum_rows(dy x̂);  dbias = sum_rows(dy)
//   dx = rstd (dy weight - mean_C(dy weight) - x̂ mean_C(dy weight x̂))
void layer_norm_backward(const Array& x, const Array& weight, const Array& mean, const Array& rstd,
                         const Array& dy, Array& dx, Array& dweight, Array& dbias);

//   y = x rstd weight,  rstd = 1 / sqrt(mean_C(x²) + epsilon)               Zhang and Sennrich 2019
void rms_norm(const Array& x, const Array& weight, double epsilon, Array& y, Array& rstd);
//   dweight = sum_rows(dy x rstd);  dx = rstd (dy weight - x rstd² mean_C(dy weight x))
void rms_norm_backward(const Array& x, const Array& weight, const Array& rstd, const Array& dy,
                       Array& dx, Array& dweight);

// random.cc: element i takes the stream's i-th number, whatever thread fills it.
void fill_normal(const RandomStream& stream, double mean, double standard_deviation, Array& y);
void fill_uniform(const RandomStream& stream, double low, double high, Array& y);

// y = x / (1 - p) where the stream keeps the element (with probability 1 - p), else 0; `mask`
// (boolean) says which were kept.
void dropout(const RandomStream& stream, double p, const Array& x, Array& y, Array& mask);
// dx = dy / (1 - p) where mask, else 0
void dropout_backward(const Array& mask, double p, const Array& dy, Array& dx);

// rotary.cc: turns the pairs of each head by an angle that grows with the position p = first + t:
//   y[2i]     = x[2i] cos(p w_i) - x[2i + 1] sin(p w_i)      x, y [B, T, H, D], D even
//   y[2i + 1] = x[2i] sin(p w_i) + x[2i + 1] cos(p w_i)      w_i = base^(-2i / D)
// `back`: by -p w_i. x and y may be one array; f32, f64 or bf16.
void rotate_pairs(const Array& x, int64_t first, double base, bool back, Array& y);

// convolution.cc: sums over a few neighbouring positions of a sequence. Tap k of position t reads
// position t + k - before; beyond the ends there are zeros.

// windows[b, t, k C + c] = x[b, t + k - before, c]     x [B, T, C], windows [B, T, K C] of any type
void unfold(const Array& x, int64_t before, Array& windows);

// The transpose of unfold: x[b, s, c] = sum_k windows[b, s - k + before, k C + c]. f32, f64, bf16;
// the sums of bf16 numbers are f32.
void fold(const Array& windows, int64_t before, Array& x);

// y[b, t, c] = sum_k weight[c, k] x[b, t + k - before, c] + bias[c]
//   x, y [B, T, C], weight [C, 1, K], bias [C] or nullptr
void depthwise_convolution(const Array& x, const Array& weight, const Array* bias, int64_t before,
                           Array& y);
// dx[b, s, c] = sum_k weight[c, k] dy[b, s - k + before, c]
// dweight[c, k] = sum_{b, t} dy[b, t, c] x[b, t + k - before, c]
void depthwise_convolution_backward(const Array& x, const Array& weight, int64_t before,
                                    const Array& dy, Array& dx, Array& dweight);

// recurrence.cc: states that follow one from the other, for every sequence by itself. f32 or f64.
struct ScanArguments {
  bool reverse = false;            // from the last position to the first
  const Array* padding = nullptr;  // boolean [B, T], true where the state stays what it was
};

// With h the state that a position starts from, `first` at the beginning:
//   states[b, t] = tanh(x[b, t] + W h)
//   x, states [B, T, H], weight W [H, H], first [B, H]
void rnn(const Array& x, const Array& weight, const Array& first, const ScanArguments& arguments,
         Array& states);
// Walks back with the gradient of the states; that of x is also that of W h.
//   dx = (1 - states²) (dstates + Wᵀ dx of the position after);  dfirst = Wᵀ dx of the first
void rnn_backward(const Array& weight, const Array& states, const Array& dstates,
                  const ScanArguments& arguments, Array& dx, Array& dfirst);

// With [h, c] the state that a position starts from:
//   gates [i, f, g, o] = sigmoid, sigmoid, tanh, sigmoid of x[b, t] + W h
//   states[b, t] = [o tanh(c'), c'],  c' = f c + i g
//   x, gates [B, T, 4 H], weight W [4 H, H], first [B, 2 H], states [B, T, 2 H]
// Gates are 0 where there is padding.
void lstm(const Array& x, const Array& weight, const Array& first, const ScanArguments& arguments,
          Array& states, Array& gates);
void lstm_backward(const Array& weight, const Array& first, const Array& states, const Array& gates,
                   const Array& dstates, const ScanArguments& arguments, Array& dx, Array& dfirst);

// optimizer.cc: one step on one parameter w, in place. g is the gradient times `gradient_scale`
// (clipping).
struct StepFactors {
  Float128 learning_rate, gradient_scale;
};

//   g = g + weight_decay w;  v = momentum v + g;  w = w - learning_rate v
struct SgdStep {
  Float128 learning_rate, momentum, weight_decay, gradient_scale;
};
void sgd(const SgdStep& step, const Array& gradient, Array& weight, Array& velocity);

//   g = g + l2 w;  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²
//   w = w - learning_rate weight_decay w
//         - learning_rate (m / correction1) / (sqrt(v / correction2) + epsilon)
// Adam has l2, AdamW weight_decay: Kingma and Ba 2015; Loshchilov and Hutter 2019.
struct AdamStep {
  Float128 learning_rate, beta1, beta2, epsilon, l2, weight_decay, correction1, correction2,
      gradient_scale;
};
void adam(const AdamStep& step, const Array& gradient, Array& weight, Array& first_moment,
          Array& second_moment);

// The steps of Muon (framework/optim/muon.cc), on matrices [N, R, C].
//   m = beta m + (1 - beta) scale g;  u = beta m + (1 - beta) scale g        Nesterov's momentum
void momentum(Float128 beta, Float128 scale, const Array& gradient, Array& m, Array& u);
// Each matrix divided by its Frobenius norm + 1e-7.
void normalize_matrices(Array& x);
// Each square matrix x = factor x + term I.
void add_to_diagonal(double factor, double term, Array& x);
// w = w - learning_rate (weight_decay w + factor x)
struct MuonStep {
  Float128 learning_rate, weight_decay, factor;
};
void muon(const MuonStep& step, const Array& x, Array& weight);

// average = average + share (weight - average)
void average(double share, const Array& weight, Array& average);

}  // namespace qkv::kernels
