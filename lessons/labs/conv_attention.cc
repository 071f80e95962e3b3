// Attention and convolution: alike in form, not in spirit. All is y = M x.
#include <set>

#include "framework/nn/attention.h"
#include "framework/nn/convolution.h"
#include "lessons/labs/kit.h"
#include "models/mixer.h"

namespace qkv {
namespace {

// What mixes the tokens of `values` [1, T, C], and may look at x [1, T, C] to know how.
struct Form {
  std::string name;
  std::function<Tensor(const Tensor& x, const Tensor& values)> mix;
};

struct Setting {
  int64_t n, d, kernel;
  RandomStream random;
  double factor;  // of the scores
  Tensor taps = random_normal(random, "taps", {1, 1, kernel});
  Tensor dense = random_normal(random, "dense", {n, n});
  Tensor w_query = random_normal(random, "W_q", {d, d});
  Tensor w_key = random_normal(random, "W_k", {d, d});
  Tensor x = random_normal(random, "x", {1, n, d});
  Tensor other = random_normal(random, "other x", {1, n, d});
  Tensor values = random_normal(random, "values", {1, n, d});

  int64_t before() const { return (kernel - 1) / 2; }
  // By K numbers [1, 1, K], which are the same for each of the C.
  Tensor convolved(const Tensor& y, const Tensor& numbers) const {
    return depthwise_convolution(y, broadcast_to(numbers, {d, 1, kernel}), Tensor(), before());
  }
};

Setting make_setting(const LabContext& lab) {
  const int64_t d = lab.integer("d");
  return {.n = lab.integer("n"),
          .d = d,
          .kernel = lab.integer("kernel"),
          .random = RandomStream(lab.integer("seed")),
          .factor = lab.is_control() ? 0 : 0.5 / static_cast<double>(d)};
}

std::vector<Form> make_forms(const Setting& s) {
  const Form convolution = {"convolution", [s](const Tensor& /*x*/, const Tensor& values) {
                              return s.convolved(values, s.taps);
                            }};
  const Form dense = {"fully connected", [s](const Tensor& /*x*/, const Tensor& values) {
                        return transpose(linear(transpose(values, 1, 2), s.dense, Tensor()), 1, 2);
                      }};
  const Form attend = {
      "attention", [s](const Tensor& x, const Tensor& values) {
        const Tensor q = matmul(x, s.w_query), k = matmul(x, s.w_key);
        return reshape(attention(one_head(q), one_head(k), one_head(values), {.scale = s.factor}),
                       {1, s.n, s.d});
      }};
  return {convolution, dense, attend};
}

Tensor matrix_of(const Form& form, const Tensor& x, const Tensor& values) {
  const Tensor v = as_parameter(values);
  return mixing_matrix(form.mix(x, v), v);
}

double count_different(const Tensor& matrix) {
  const Samples numbers = matrix.to_vector();
  std::set<double> all(numbers.begin(), numbers.end());
  all.erase(0.0);
  return static_cast<double>(all.size());
}

Section alike_section(const Setting& s, const std::vector<Form>& forms) {
  Section section = make_section("conv-attention.alike");
  const auto n = static_cast<double>(s.n), k = static_cast<double>(s.kernel);
  const double band = n * k - static_cast<double>(s.before() * (s.before() + 1));
  for (const Form& form : forms) {
    const Tensor matrix = matrix_of(form, s.x, s.values);
    const bool is_banded = form.name == "convolution";
    section.add(same(absl::StrCat(form.name, ": y and M v"),
                     largest_difference(form.mix(s.x, s.values), matmul(matrix, s.values))));
    section.add(equal(absl::StrCat(form.name, ": weights that are not 0"), is_banded ? band : n * n,
                      count_not_zero(matrix)));
    section.add(equal(absl::StrCat(form.name, ": different weights"), is_banded ? k : n * n,
                      count_different(matrix)));
    section.show(heat_map_of(absl::StrCat("M, ", form.name), matrix));
  }
  return section;
}

// Attention whose scores are `bias` [H, Tq, Tk] and nothing else.   values [1, Tk, H, D]
Tensor attend_by(const Tensor& bias, const Tensor& values) {
  const int64_t h = bias.dim(0), queries = bias.dim(1), keys = bias.dim(2), d = values.dim(3);
  return attention(zeros({1, queries, h, d}, DType::f64), zeros({1, keys, h, d}, DType::f64),
                   values, {.mask = {.bias = bias}});
}

// [T, T + K - 1]: scores[k] where tap k of token i stands, -∞ elsewhere.
Tensor scores_of_taps(const Setting& s, const Samples& scores) {
  const int64_t keys = s.n + s.kernel - 1;
  std::vector<double> numbers(static_cast<size_t>(s.n * keys),
                              -std::numeric_limits<double>::infinity());
  for (int64_t i = 0; i < s.n; ++i) {
    for (int64_t k = 0; k < s.kernel; ++k) {
      numbers[static_cast<size_t>(i * keys + i + k)] = scores[static_cast<size_t>(k)];
    }
  }
  return constant_f64({s.n, keys}, numbers);
}

// How many of so many random kernels have a weight that no head can give.
double share_below_zero(const Setting& s, int64_t kernels) {
  const Tensor drawn = random_normal(s.random, "kernels", {kernels, s.kernel});
  const Tensor below = relu(max(neg(drawn), 1));
  return count_not_zero(below) / static_cast<double>(kernels);
}

Section window_section(const Setting& s) {
  const Tensor padded = pad(s.values, 1, s.before(), s.n + s.kernel - 1);  // zeros beyond the ends
  const Tensor mean_like = softmax(s.taps);  // K weights above 0, with the sum 1
  const Tensor bias = scores_of_taps(s, log(mean_like).to_vector());
  const Tensor one = attend_by(reshape(bias, {1, s.n, bias.dim(1)}), one_head(padded));
  // Any convolution: head k looks at the place of tap k alone, and has a map of values of its own.
  const Tensor weight = random_normal(s.random, "convolution", {s.d, s.d, s.kernel});
  std::vector<Tensor> biases, values;
  for (int64_t k = 0; k < s.kernel; ++k) {
    std::vector<double> scores(static_cast<size_t>(s.kernel),
                               -std::numeric_limits<double>::infinity());
    scores[static_cast<size_t>(k)] = 0;
    biases.push_back(scores_of_taps(s, scores));
    const Tensor map = reshape(slice(weight, 2, k, 1), {s.d, s.d});
    values.push_back(matmul(padded, map, {.transpose_b = true}));
  }
  const Tensor heads = sum(attend_by(stack(biases, 0), stack(values, 2)), 2);  // [1, T, C]
  const double below = share_below_zero(s, 1000);
  return make_section(
      "conv-attention.window",
      {same("convolution, and one head with scores log w",
            largest_difference(s.convolved(s.values, mean_like), reshape(one, {1, s.n, s.d}))),
       same("any convolution, and K heads of one place each",
            largest_difference(convolution(s.values, weight, Tensor(), s.before()), heads)),
       beyond(equal("share of random kernels with a weight below 0", 0, below))});
}

Section fusion_section(const Setting& s) {
  const Tensor weight = random_normal(s.random, "convolution", {s.d, s.d, s.kernel});
  std::vector<Tensor> summed;
  for (int64_t i = 0; i < s.d; ++i) {
    const Tensor own = reshape(slice(weight, 0, i, 1), {s.d, 1, s.kernel});
    summed.push_back(sum(depthwise_convolution(s.x, own, Tensor(), s.before()), -1));
  }
  const int64_t width = 2 * s.d;  // of two heads
  const Tensor q = random_normal(s.random, "q", {1, s.n, 2, s.d});
  const Tensor v = random_normal(s.random, "v", {1, s.n, 2, s.d});
  const Tensor w_output = random_normal(s.random, "W_o", {width, s.d});
  const Tensor heads = attention(q, q, v, {.scale = s.factor});
  Tensor added = zeros(s.x.shape(), DType::f64);
  for (int64_t h = 0; h < 2; ++h) {
    added = added +
            matmul(reshape(slice(heads, 2, h, 1), {1, s.n, s.d}), slice(w_output, 0, h * s.d, s.d));
  }
  return make_section(
      "conv-attention.fusion",
      {same("convolution, and channel by channel, summed",
            largest_difference(convolution(s.x, weight, Tensor(), s.before()), stack(summed, 2))),
       same("heads times W_o, and head by head, summed",
            largest_difference(matmul(reshape(heads, {1, s.n, width}), w_output), added))});
}

Section dynamic_section(const Setting& s, const std::vector<Form>& forms) {
  Section section = make_section("conv-attention.dynamic");
  for (const Form& form : forms) {
    const double change =
        largest_difference(matrix_of(form, s.x, s.values), matrix_of(form, s.other, s.values));
    const Tensor x = as_parameter(s.x), v = as_parameter(s.values);
    const bool is_taught = backward(sum(form.mix(x, v) * s.other)).contains(x);
    const std::string what = absl::StrCat(form.name, ": change of M with the input");
    const bool is_attention = form.name == "attention";
    section.add(is_attention ? above(what, 0.01, change) : equal(what, 0, change));
    section.add(
        equal(absl::StrCat(form.name, ": inputs that the weights teach"), is_attention, is_taught));
  }
  return section;
}

// How many of the layer's parameters are maps of that role.
template <class Layer>
double count_roles(const Layer& layer) {
  double roles = 0;
  for (const NamedParameter& each : parameters(layer)) {
    for (const char* const role : {"query.weight", "key.weight", "value.weight"}) {
      roles += each.name == role ? 1 : 0;
    }
  }
  return roles;
}

Section self_section(const Setting& s, const std::vector<Form>& forms) {
  Initializer init(s.random, DType::f64);
  const auto layer_of = [&](const std::string& kind) {
    return make_mixer(init, {.d_model = s.d, .mixer = kind, .num_heads = 1},
                      {.max_length = s.n, .causal = false, .residual_deviation = 1});
  };
  const Mixer attend = layer_of("attention"), convolve = layer_of("convolution");
  const double inside = count_outside(s.x, forms[2].mix(s.x, s.x));
  const double outside = count_outside(s.x, forms[0].mix(s.x, s.x));
  return make_section(
      "conv-attention.self",
      {equal("attention: numbers that no mean of x could be", 0, inside),
       found("convolution: numbers that no mean of x could be", "some", outside, outside > 0),
       equal("attention: maps named query, key or value", 3, count_roles(std::get<0>(attend.kind))),
       equal("convolution: such maps", 0, count_roles(std::get<1>(convolve.kind)))});
}

std::vector<Section> run(const LabContext& lab) {
  const Setting setting = make_setting(lab);
  const std::vector<Form> forms = make_forms(setting);
  return {alike_section(setting, forms), window_section(setting), fusion_section(setting),
          dynamic_section(setting, forms), self_section(setting, forms)};
}

}  // namespace

Lab conv_attention_lab() { return make_lab("conv-attention", run); }

}  // namespace qkv
