#include <gtest/gtest.h>

#include <algorithm>

#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/ops/ops.h"
#include "tests/framework/ops/misuse_arguments.h"

namespace qkv {
namespace {

Dims broadcast(Dims a, Dims b) {
  if (a.size() < b.size()) std::swap(a, b);
  b.insert(b.begin(), a.size() - b.size(), 1);
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] == 1 ? b[i] : a[i];
  return a;
}

Dims with(Dims x, int axis, std::optional<int64_t> size) {
  const auto at = x.begin() + (axis < 0 ? axis + static_cast<int>(x.size()) : axis);
  if (size) {
    *at = *size;
  } else {
    x.erase(at);
  }
  return x;
}

// What has another argument, too, and the shape of x.
template <class F>
Call of_shape_of_x(const char* op, F f) {
  return {op, [f](Draw& d) {
            const Tensor x = d.tensor();
            return Made{f(x, d), dims(x)};
          }};
}

template <class F>
Call reduction(const char* op, F f) {
  return {op, [f](Draw& d) {
            const Tensor x = d.tensor();
            const int axis = d.axis();
            const bool keep = d.with_probability(0.5);
            const Tensor y = f(x, axis, d.size(), keep);
            return Made{y, with(dims(x), axis, keep ? std::optional<int64_t>(1) : std::nullopt)};
          }};
}

// Often of the shape that goes with x [B, T, C].
template <class F>
Tensor fitting(Draw& d, const Tensor& x, F shape_for) {
  if (!x.defined() || x.rank() != 3 || x.dim(2) >= kLarge || d.with_probability(0.3)) {
    return d.tensor();
  }
  Tensor weight = ones(shape_for(x.dim(2)), computed_dtype(x.dtype()));
  return is_floating(weight.dtype()) && d.with_probability(0.5) ? parameter(weight.array())
                                                                : weight;
}

template <class F>
Call scan(const char* op, int64_t gates, int64_t parts, F f) {
  return {op, [f, gates, parts](Draw& d) {
            Tensor x = d.tensor();
            if (gates > 1 && x.defined() && x.rank() == 3 && is_floating(x.dtype()) &&
                x.size() > 0 && d.with_probability(0.8)) {
              x = concat(std::vector<Tensor>(static_cast<size_t>(gates), x), 2);
            }
            const Tensor weight = fitting(d, x, [gates](int64_t width) {
              return Shape{width, width / gates};
            });
            ScanOptions options = {.reverse = d.with_probability(0.5)};
            if (d.with_probability(0.2)) options.first = d.tensor();
            if (d.with_probability(0.2)) options.padding = d.mask();
            const Tensor y = f(x, weight, options);
            return Made{y, with(dims(x), 2, parts * weight.dim(1))};
          }};
}

}  // namespace

std::vector<Call> listed_calls() {
  return {
      of_shape_of_x("scale", [](auto& x, Draw& d) { return scale(x, d.number()); }),
      of_shape_of_x("add_scalar", [](auto& x, Draw& d) { return add_scalar(x, d.number()); }),
      of_shape_of_x("div", [](auto& x, Draw& d) { return div(x, d.number()); }),
      of_shape_of_x("pow", [](auto& x, Draw& d) { return pow(x, d.number()); }),
      {"gelu",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const auto form = d.one_of<GeluForm>({GeluForm::kErf, GeluForm::kTanh});
         return Made{gelu(x, form), dims(x)};
       }},
      {"masked_fill",
       [](Draw& d) {
         const Tensor x = d.tensor(), mask = d.mask();
         return Made{masked_fill(x, mask, d.number()), broadcast(dims(x), dims(mask))};
       }},
      {"matmul",
       [](Draw& d) {
         const Tensor a = d.tensor(), b = d.tensor();
         const MatmulOptions options = {d.with_probability(0.5), d.with_probability(0.5),
                                        d.with_probability(0.1)};
         const Tensor y = matmul(a, b, options);
         Dims m = dims(a), n = dims(b);
         const int64_t rows = a.dim(options.transpose_a ? -1 : -2);
         const int64_t columns = b.dim(options.transpose_b ? -2 : -1);
         m.resize(m.size() - 2);
         n.resize(n.size() - 2);
         Dims shape = broadcast(m, n);
         shape.insert(shape.end(), {rows, columns});
         return Made{y, shape};
       }},
      {"linear",
       [](Draw& d) {
         const Tensor x = d.tensor(), weight = d.tensor();
         const Tensor bias = d.with_probability(0.7) ? Tensor() : d.row();
         const Tensor y = linear(x, weight, bias, {.bf16_result = d.with_probability(0.2)});
         return Made{y, with(dims(x), -1, weight.dim(0))};
       }},
      {"attention",
       [](Draw& d) {
         const Tensor query = d.tensor(), key = d.tensor(), value = d.tensor();
         AttentionOptions options = {.mask = {.causal = d.with_probability(0.5)},
                                     .scale = d.number()};
         if (d.with_probability(0.3)) options.mask.window = d.size();
         if (d.with_probability(0.3)) options.mask.first_query = d.size();
         if (d.with_probability(0.3)) options.mask.padding = d.mask();
         if (d.with_probability(0.3)) options.mask.bias = d.tensor();
         if (d.with_probability(0.2)) options.mask.relative_bias = d.tensor();
         if (d.with_probability(0.3)) options.dropout = d.number();
         return Made{attention(query, key, value, options), dims(query)};
       }},
      of_shape_of_x("rotary", [](auto& x, Draw& d) { return rotary(x, d.size()); }),
      {"convolution",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const Tensor weight = fitting(d, x, [&d](int64_t width) {
           return Shape{d.one_of<int64_t>({0, 1, 2}), width, d.one_of<int64_t>({0, 1, 2, 5})};
         });
         const Tensor bias = d.with_probability(0.7) ? Tensor() : d.row();
         return Made{convolution(x, weight, bias, d.size()), with(dims(x), -1, weight.dim(0))};
       }},
      {"depthwise_convolution",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const Tensor weight = fitting(d, x, [&d](int64_t width) {
           return Shape{width, 1, d.one_of<int64_t>({0, 1, 2, 5})};
         });
         const Tensor bias = d.with_probability(0.7) ? Tensor() : d.row();
         return Made{depthwise_convolution(x, weight, bias, d.size()), dims(x)};
       }},
      {"unfold",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const int64_t kernel = d.size();
         const Tensor y = unfold(x, kernel, d.size());
         return Made{y, with(dims(x), 2, x.dim(2) * kernel)};
       }},
      {"fold",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const int64_t kernel = d.size();
         const Tensor y = fold(x, kernel, d.size());
         return Made{y, with(dims(x), 2, x.dim(2) / kernel)};
       }},
      scan("rnn", 1, 1,
           [](auto& x, auto& weight, auto& options) { return rnn(x, weight, options); }),
      scan("lstm", 4, 2,
           [](auto& x, auto& weight, auto& options) { return lstm(x, weight, options); }),
      {"reshape",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const Dims sizes = d.with_probability(0.3) ? dims(x) : d.sizes();
         const Tensor y = reshape(x, sizes);
         const auto unknown = std::ranges::find(sizes, -1);
         Dims shape = sizes;
         if (unknown != sizes.end()) {
           Dims rest = sizes;
           rest.erase(rest.begin() + (unknown - sizes.begin()));
           shape[static_cast<size_t>(unknown - sizes.begin())] = x.size() / Shape(rest).size();
         }
         return Made{y, shape};
       }},
      {"reshape",
       [](Draw& d) {
         const int64_t a = d.size(), b = d.size();
         const Tensor y = reshape(d.tensor(), {a, b});
         return Made{y, {a == -1 ? y.dim(0) : a, b == -1 ? y.dim(1) : b}};
       }},
      {"reshape",
       [](Draw& d) {
         const Tensor x = d.tensor();
         Dims sizes = {x.size()};
         if (d.with_probability(0.5)) sizes = {std::abs(d.size() % 8), std::abs(d.size() % 8)};
         const Shape shape(sizes);
         return Made{reshape(x, shape), {shape.begin(), shape.end()}};
       }},
      {"permute",
       [](Draw& d) {
         const Tensor x = d.tensor();
         std::vector<int> axes(d.with_probability(0.9) ? dims(x).size() : 3);
         for (int& axis : axes) axis = d.axis();
         const Tensor y = permute(x, axes);
         Dims shape;
         for (const int axis : axes) shape.push_back(x.dim(axis));
         return Made{y, shape};
       }},
      {"transpose",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const int a = d.axis(), b = d.axis();
         const Tensor y = transpose(x, a, b);
         return Made{y, with(with(dims(x), a, x.dim(b)), b, x.dim(a))};
       }},
      {"concat",
       [](Draw& d) {
         std::vector<Tensor> pieces(static_cast<size_t>(d.one_of<int>({0, 1, 2, 3, 10})));
         for (Tensor& piece : pieces) piece = d.tensor();
         if (d.with_probability(0.5)) std::ranges::fill(pieces, d.tensor());
         const int axis = d.axis();
         const Tensor y = concat(pieces, axis);
         int64_t length = 0;
         for (const Tensor& piece : pieces) length += piece.dim(axis);
         return Made{y, with(dims(pieces[0]), axis, length)};
       }},
      {"stack",
       [](Draw& d) {
         std::vector<Tensor> pieces(static_cast<size_t>(d.one_of<int>({0, 1, 2, 3, 10})));
         for (Tensor& piece : pieces) piece = d.tensor();
         if (d.with_probability(0.5)) std::ranges::fill(pieces, d.tensor());
         const int axis = d.axis();
         const Tensor y = stack(pieces, axis);
         Dims shape = dims(pieces[0]);
         const int place = axis < 0 ? axis + static_cast<int>(shape.size()) + 1 : axis;
         shape.insert(shape.begin() + place, static_cast<int64_t>(pieces.size()));
         return Made{y, shape};
       }},
      {"slice",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const int axis = d.axis();
         const int64_t start = d.size(), length = d.size();
         return Made{slice(x, axis, start, length), with(dims(x), axis, length)};
       }},
      {"pad",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const int axis = d.axis();
         const int64_t start = d.size(), size = d.size();
         return Made{pad(x, axis, start, size), with(dims(x), axis, size)};
       }},
      {"split",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const int axis = d.axis();
         const int64_t pieces = d.size();
         const std::vector<Tensor> made = split(x, axis, pieces);
         EXPECT_EQ(static_cast<int64_t>(made.size()), pieces);
         return Made{made.back(), with(dims(x), axis, x.dim(axis) / pieces)};
       }},
      {"broadcast_to",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const Shape shape = d.near();
         return Made{broadcast_to(x, shape), {shape.begin(), shape.end()}};
       }},
      {"sum_to",
       [](Draw& d) {
         const Tensor x = d.tensor();
         const Shape shape = d.near();
         return Made{sum_to(x, shape), {shape.begin(), shape.end()}};
       }},
      reduction("sum", [](auto& x, int axis, int64_t, bool keep) { return sum(x, axis, keep); }),
      reduction("mean", [](auto& x, int axis, int64_t, bool keep) { return mean(x, axis, keep); }),
      reduction("max", [](auto& x, int axis, int64_t, bool keep) { return max(x, axis, keep); }),
      reduction("variance",
                [](auto& x, int axis, int64_t n, bool keep) { return variance(x, axis, n, keep); }),
      {"cross_entropy",
       [](Draw& d) {
         const Tensor logits = d.tensor();
         const bool fits = logits.rank() > 0 && logits.shape().without(-1).size() < kLarge &&
                           d.with_probability(0.8);
         const Tensor targets =
             fits ? full(logits.shape().without(-1), d.with_probability(0.5), DType::i64)
                  : d.index();
         const CrossEntropyOptions options = {
             .ignored = d.size(), .label_smoothing = d.number(), .divisor = d.number()};
         return Made{cross_entropy(logits, targets, options), {}};
       }},
      {"layer_norm",
       [](Draw& d) {
         const Tensor x = d.tensor(), weight = d.row();
         const Tensor bias = d.with_probability(0.3) ? Tensor() : d.row();
         return Made{layer_norm(x, weight, bias, d.number()), dims(x)};
       }},
      {"rms_norm",
       [](Draw& d) {
         const Tensor x = d.tensor(), weight = d.row();
         return Made{rms_norm(x, weight, d.number()), dims(x)};
       }},
      {"gather",
       [](Draw& d) {
         const Tensor x = d.tensor(), index = d.index();
         return Made{gather(x, d.axis(), index), dims(index)};
       }},
      {"scatter_add",
       [](Draw& d) {
         const Tensor x = d.tensor(), index = d.index();
         const int axis = d.axis();
         const int64_t size = d.size();
         return Made{scatter_add(x, axis, index, size), with(dims(x), axis, size)};
       }},
      {"one_hot",
       [](Draw& d) {
         const Tensor index = d.index();
         const int64_t classes = d.size();
         const Tensor y = one_hot(index, classes, d.dtype());
         Dims shape = dims(index);
         shape.push_back(classes);
         return Made{y, shape};
       }},
      of_shape_of_x("dropout",
                    [](auto& x, Draw& d) { return dropout(x, d.number(), RandomStream(3)); }),
      of_shape_of_x("cast", [](auto& x, Draw& d) { return cast(x, d.dtype()); }),
  };
}

void differentiate(const Tensor& y, bool create_graph) {
  if (!y.requires_grad()) return;
  try {
    backward(y, {.cotangent = ones(y.shape(), y.dtype()), .create_graph = create_graph});
  } catch (const Error& error) {
    FAIL() << "backward: " << error.what();
  } catch (const OutOfMemory&) {
  }
}

void call_with_strange_tensors(const OpExamples& op) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Draw draw(seed);
    const OpExample& example = draw.one_of(op.examples);
    SCOPED_TRACE(op.op + ", " + example.name + ", " + std::to_string(seed));
    std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(seed));
    draw.one_of<std::reference_wrapper<Tensor>>({inputs.begin(), inputs.end()}).get() =
        draw.tensor();
    try {
      const Tensor y = example.f(inputs);
      ASSERT_TRUE(y.defined());
      differentiate(y, draw.with_probability(0.3));
      continue;
    } catch (const Error&) {
    } catch (const OutOfMemory&) {
    }
    ++refused;
  }
  EXPECT_GT(refused, 20) << op.op;
}

}  // namespace qkv
