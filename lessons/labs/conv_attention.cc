// Attention and convolution: alike in form, not in spirit. All is y = M x.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/nn/attention.h"
#include "framework/nn/convolution.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"
#include "models/mixer.h"

namespace qkv {
namespace {

// What mixes the tokens of `values` [1, T, C], and may look at x [1, T, C] to know how.
struct Form {
  std::string name;
  std::function<Tensor(const Tensor& x, const Tensor& values)> mix;
};

struct Setting {
  int64_t n = 0, d = 0, kernel = 0;
  RandomStream random{0};
  Tensor taps = {};                        // [1, 1, K]
  Tensor dense = {};                       // [T, T]
  Tensor w_query = {}, w_key = {};         // [C, C]
  double factor = 1;                       // of the scores
  Tensor x = {}, other = {}, values = {};  // [1, T, C]

  int64_t before() const { return (kernel - 1) / 2; }
};

Setting make_setting(const LabContext& lab) {
  Setting s = {.n = lab.integer("n"), .d = lab.integer("d"), .kernel = lab.integer("kernel")};
  s.random = RandomStream(lab.integer("seed"));
  s.taps = random_normal(s.random.derive("taps"), {1, 1, s.kernel});
  s.dense = random_normal(s.random.derive("dense"), {s.n, s.n});
  s.w_query = random_normal(s.random.derive("W_q"), {s.d, s.d});
  s.w_key = random_normal(s.random.derive("W_k"), {s.d, s.d});
  s.factor = lab.is_control() ? 0 : 0.5 / static_cast<double>(s.d);
  s.x = random_normal(s.random.derive("x"), {1, s.n, s.d});
  s.other = random_normal(s.random.derive("other x"), {1, s.n, s.d});
  s.values = random_normal(s.random.derive("values"), {1, s.n, s.d});
  return s;
}

Tensor one_head(const Tensor& x) { return reshape(x, {1, x.dim(1), 1, x.dim(2)}); }

std::vector<Form> make_forms(const Setting& s) {
  const Form convolution = {"convolution", [s](const Tensor& /*x*/, const Tensor& values) {
                              const Tensor taps = broadcast_to(s.taps, {s.d, 1, s.kernel});
                              return depthwise_convolution(values, taps, Tensor(), s.before());
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

// M of y = M v: row i is dy_i / dv_j, of the first number of each token.
Tensor matrix_of(const Form& form, const Tensor& x, const Tensor& values) {
  const Tensor v = as_parameter(values);
  const Tensor y = form.mix(x, v);
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < y.dim(1); ++i) {
    const Tensor number = slice(slice(y, 1, i, 1), 2, 0, 1);
    const Tensor back = backward(number, {.keep_graph = true})[v];  // [1, T, C]
    rows.push_back(reshape(slice(back, 2, 0, 1), {1, y.dim(1)}));
  }
  return concat(rows, 0);
}

double count_different(const Tensor& matrix) {
  const std::vector<double> numbers = matrix.to_vector();
  std::set<double> all(numbers.begin(), numbers.end());
  all.erase(0.0);
  return static_cast<double>(all.size());
}

Section alike_section(const Setting& s, const std::vector<Form>& forms) {
  Section section = {
      .claims = {{"D6",
                  "无论是attention机制还是CNN中的卷积(亦或是全连接),在实现层面看,都是以加权求和的"
                  "模式对数据进行加工。",
                  "Attention, convolution and full connection alike work on data by weighted "
                  "sums."},
                 {"D6",
                  "attention考虑的是全输入,然后在全输入下“划重点”,而卷积上来就是窗口操作模式。",
                  "Attention considers the whole input and then marks what matters; convolution "
                  "starts from a window."}},
      .formula = "y_i = Σ_j m_ij v_j",
      .prediction =
          "Each is a matrix times the tokens: of a convolution a band with K numbers, "
          "the same on each diagonal; of the others with no zero, and n² numbers.",
      .findings = {},
      .figures = {}};
  const auto n = static_cast<double>(s.n), k = static_cast<double>(s.kernel);
  const double band = n * k - static_cast<double>(s.before() * (s.before() + 1));
  for (const Form& form : forms) {
    const Tensor matrix = matrix_of(form, s.x, s.values);
    const bool is_banded = form.name == "convolution";
    section.findings.push_back(
        same(absl::StrCat(form.name, ": y and M v"),
             largest_difference(form.mix(s.x, s.values), matmul(matrix, s.values))));
    section.findings.push_back(exact(absl::StrCat(form.name, ": weights that are not 0"),
                                     is_banded ? band : n * n, count_not_zero(matrix), 0));
    section.findings.push_back(exact(absl::StrCat(form.name, ": different weights"),
                                     is_banded ? k : n * n, count_different(matrix), 0));
    section.figures.push_back(heat_map_of(absl::StrCat("M, ", form.name), matrix));
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
Tensor scores_of_taps(const Setting& s, const std::vector<double>& scores) {
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
  const Tensor drawn = random_normal(s.random.derive("kernels"), {kernels, s.kernel});
  const Tensor below = relu(max(neg(drawn), 1));
  return count_not_zero(below) / static_cast<double>(kernels);
}

Section window_section(const Setting& s) {
  const Tensor padded = pad(s.values, 1, s.before(), s.n + s.kernel - 1);  // zeros beyond the ends
  const auto convolve = [&](const Tensor& taps) {
    return depthwise_convolution(s.values, broadcast_to(taps, {s.d, 1, s.kernel}), Tensor(),
                                 s.before());
  };
  const Tensor mean_like = softmax(s.taps);  // K weights above 0, with the sum 1
  const Tensor bias = scores_of_taps(s, log(mean_like).to_vector());
  const Tensor one = attend_by(reshape(bias, {1, s.n, bias.dim(1)}), one_head(padded));
  // Any convolution: head k looks at the place of tap k alone, and has a map of values of its own.
  const Tensor weight = random_normal(s.random.derive("convolution"), {s.d, s.d, s.kernel});
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
  return {.claims =
              {{"D6",
                "甚至可以认为CNN中的卷积是在全图范围内,只对当前卷积窗口中投射了全部的注意力而已。",
                "One may even say that a convolution looks at the whole picture, and gives all "
                "of its attention to the window."}},
          .formula = "s_ij = log w_(j-i) in the window, -∞ outside",
          .prediction = "Attention with such scores is the convolution, number by number.",
          .findings = {same("convolution, and one head with scores log w",
                            largest_difference(convolve(mean_like), reshape(one, {1, s.n, s.d}))),
                       same("any convolution, and K heads of one place each",
                            largest_difference(convolution(s.values, weight, Tensor(), s.before()),
                                               heads)),
                       beyond(exact("share of random kernels with a weight below 0", 0, below, 0))},
          .condition = "the weights of the kernel are above 0 and sum to 1",
          .correction =
              "One head cannot subtract. K heads can be any convolution of K taps: where "
              "they look is fixed, and the signs are in the maps of their values."};
}

Section fusion_section(const Setting& s) {
  const Tensor weight = random_normal(s.random.derive("convolution"), {s.d, s.d, s.kernel});
  std::vector<Tensor> summed;
  for (int64_t i = 0; i < s.d; ++i) {
    const Tensor own = reshape(slice(weight, 0, i, 1), {s.d, 1, s.kernel});
    summed.push_back(sum(depthwise_convolution(s.x, own, Tensor(), s.before()), -1));
  }
  const int64_t width = 2 * s.d;  // of two heads
  const Tensor q = random_normal(s.random.derive("q"), {1, s.n, 2, s.d});
  const Tensor v = random_normal(s.random.derive("v"), {1, s.n, 2, s.d});
  const Tensor w_output = random_normal(s.random.derive("W_o"), {width, s.d});
  const Tensor heads = attention(q, q, v, {.scale = s.factor});
  Tensor added = zeros(s.x.shape(), DType::f64);
  for (int64_t h = 0; h < 2; ++h) {
    added = added +
            matmul(reshape(slice(heads, 2, h, 1), {1, s.n, s.d}), slice(w_output, 0, h * s.d, s.d));
  }
  return {.claims = {{"D6",
                      "尤其是在Transformer中,Multi-Head Attention在后面还有一个特征融合过程,在操作"
                      "套路上和CNN中逐通道卷积最后沿着通道求和做特征融合就更像了。",
                      "Multi-head attention goes on to fuse features, even more like a CNN, which "
                      "convolves channel by channel and sums over the channels."}},
          .formula = "y = Σ_c M_c x_c,   y = Σ_h P_h V_h W_o,h",
          .prediction =
              "Both mix tokens first, in each channel or head by itself, and then sum "
              "over channels or heads.",
          .findings = {
              same("convolution, and channel by channel, summed",
                   largest_difference(convolution(s.x, weight, Tensor(), s.before()),
                                      stack(summed, 2))),
              same("heads times W_o, and head by head, summed",
                   largest_difference(matmul(reshape(heads, {1, s.n, width}), w_output), added))}};
}

Section dynamic_section(const Setting& s, const std::vector<Form>& forms) {
  Section section = {
      .claims =
          {{"D6",
            "attention的注意力权重是动态的按照输入计算出来的,即是随着输入改变的,可谓“见人说"
            "人话,见鬼说鬼话”,但是卷积一但训练完毕就定死了,和输入无关了",
            "The weights of attention are computed from the input and change with it; a "
            "convolution, once trained, is fixed whatever the input."},
           {"D6", "也就是说attention是一套机制,而卷积是一种操作。",
            "That is, attention is a mechanism (of where to look), convolution an operation."}},
      .formula = "M(x) and M(x'),   dM / dx",
      .prediction =
          "For another input a convolution has the same M, attention another; and only "
          "there does a gradient go from the weights to the input.",
      .findings = {}};
  for (const Form& form : forms) {
    const double change =
        largest_difference(matrix_of(form, s.x, s.values), matrix_of(form, s.other, s.values));
    const Tensor x = as_parameter(s.x), v = as_parameter(s.values);
    const bool is_taught = backward(sum(form.mix(x, v) * s.other)).contains(x);
    const std::string what = absl::StrCat(form.name, ": change of M with the input");
    if (form.name == "attention") {
      section.findings.push_back(found(what, "above 0.01", format_number(change), change > 0.01));
    } else {
      section.findings.push_back(exact(what, 0, change, 0));
    }
    section.findings.push_back(exact(absl::StrCat(form.name, ": inputs that the weights teach"),
                                     form.name == "attention" ? 1 : 0, is_taught ? 1 : 0, 0));
  }
  return section;
}

// Numbers of y that no mean of the tokens' numbers could be.
double count_outside(const Tensor& x, const Tensor& y) {
  const Tensor highest = max(x, 1, true), lowest = neg(max(neg(x), 1, true));  // [1, 1, C]
  const Tensor above = relu(y - highest - 1e-12), below = relu(lowest - y - 1e-12);
  return count_not_zero(above + below);
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
  ModelOptions options;
  options.d_model = s.d;
  options.num_heads = 1;
  const auto layer_of = [&](MixerKind kind) {
    options.mixer = kind;
    return make_mixer(init, options, s.n, /*causal=*/false, /*residual_deviation=*/1);
  };
  const Mixer attend = layer_of(MixerKind::kAttention),
              convolve = layer_of(MixerKind::kConvolution);
  const double inside = count_outside(s.x, forms[2].mix(s.x, s.x));
  const double outside = count_outside(s.x, forms[0].mix(s.x, s.x));
  return {
      .claims = {{"D6",
                  "这个自注意力中的“自”是有大文章的,核心是如何用一个特征集合自己表示自己的问题",
                  "The \"self\" matters: it is about how a set of features expresses itself "
                  "by itself."},
                 {"D6", "而CNN就和“自己表达自己”这件事儿没什么关系了。",
                  "A CNN has nothing to do with that."},
                 {"D6",
                  "在Transformer中有明确的查询(Q)、键-值数据(K和V)的概念,这一点在卷积中是没有的。",
                  "A transformer has queries, keys and values; a convolution has not."}},
      .formula = "att(V, {(V, V)}): a mean of V",
      .prediction =
          "What attention makes of a set is a mean of the set, number by number "
          "between its smallest and its largest; a convolution is not held to that, "
          "and has no maps of queries, keys and values.",
      .findings = {exact("attention: numbers that no mean of x could be", 0, inside, 0),
                   found("convolution: numbers that no mean of x could be", "some",
                         format_number(outside), outside > 0),
                   exact("attention: maps named query, key or value", 3,
                         count_roles(std::get<0>(attend.kind)), 0),
                   exact("convolution: such maps", 0, count_roles(std::get<1>(convolve.kind)), 0)}};
}

std::vector<Section> run(const LabContext& lab) {
  const Setting setting = make_setting(lab);
  const std::vector<Form> forms = make_forms(setting);
  return {alike_section(setting, forms), window_section(setting), fusion_section(setting),
          dynamic_section(setting, forms), self_section(setting, forms)};
}

}  // namespace

Lab conv_attention_lab() {
  return {.name = "conv-attention",
          .question = "Attention and convolution: alike in form, not in spirit?",
          .control = "the scores of attention are all 0",
          .duration = "1 s",
          .options = {{"n", "6", "tokens", 2, 64},
                      {"d", "4", "numbers of a token", 2, 64},
                      {"kernel", "3", "taps of the convolution", 3, 15, Numbers::kOdd},
                      seed_option("of tokens and layers")},
          .run = run};
}

}  // namespace qkv
