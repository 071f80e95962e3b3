// Every function of ops.h, with what nobody should give it, makes a tensor, or throws an
// error that names it: those with other arguments than tensors by a list, the others by examples.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>

#include "framework/core/memory/out_of_memory.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/op_examples.h"
#include "tests/framework/ops/misuse_arguments.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::ContainsRegex;
using testing::StartsWith;

struct Call {
  std::string op;
  std::function<Tensor(Draw&)> f;
};

// What has a first tensor, and other arguments.
template <class F>
Call of_x(const char* op, F f) {
  return {op, [f](Draw& d) {
            const Tensor x = d.tensor();
            return f(x, d);
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

Tensor row_or_none(Draw& d, double none) { return d.with_probability(none) ? Tensor() : d.row(); }

std::vector<Tensor> some_like(const Tensor& x, Draw& d) {
  std::vector<Tensor> pieces(static_cast<size_t>(d.one_of<int>({0, 1, 2, 3, 10})), x);
  if (d.with_probability(0.5)) std::ranges::generate(pieces, [&] { return d.tensor(); });
  return pieces;
}

template <class F>
Call scan(const char* op, int64_t gates, F f) {
  return {op, [f, gates](Draw& d) {
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
            return f(x, weight, options);
          }};
}

Tensor any_attention(const Tensor& query, Draw& d) {
  AttentionOptions options = {.mask = {.causal = d.with_probability(0.5)}, .scale = d.number()};
  const Tensor key = d.tensor(), value = d.tensor();
  if (d.with_probability(0.3)) options.mask.window = d.size();
  if (d.with_probability(0.3)) options.mask.first_query = d.size();
  if (d.with_probability(0.3)) options.mask.padding = d.mask();
  if (d.with_probability(0.3)) options.mask.bias = d.tensor();
  if (d.with_probability(0.2)) options.mask.relative_bias = d.tensor();
  if (d.with_probability(0.3)) options.dropout = d.number();
  return attention(query, key, value, options);
}

Tensor any_cross_entropy(const Tensor& logits, Draw& d) {
  const bool fits =
      logits.rank() > 0 && logits.shape().without(-1).size() < kLarge && d.with_probability(0.8);
  const Tensor targets =
      fits ? full(logits.shape().without(-1), d.with_probability(0.5), DType::i64) : d.index();
  return cross_entropy(logits, targets,
                       {.ignored = d.size(), .label_smoothing = d.number(), .divisor = d.number()});
}

// One for each prototype of ops.h that takes more than tensors.
std::vector<Call> listed_calls() {
  const auto kernel_size = [](Draw& d) { return d.one_of<int64_t>({0, 1, 2, 5}); };
  return {
      of_x("scale", [](auto& x, Draw& d) { return scale(x, d.number()); }),
      of_x("add_scalar", [](auto& x, Draw& d) { return add_scalar(x, d.number()); }),
      of_x("div", [](auto& x, Draw& d) { return div(x, d.number()); }),
      of_x("pow", [](auto& x, Draw& d) { return pow(x, d.number()); }),
      of_x("gelu",
           [](auto& x, Draw& d) {
             return gelu(x, d.one_of<GeluForm>({GeluForm::kErf, GeluForm::kTanh}));
           }),
      of_x("masked_fill", [](auto& x, Draw& d) { return masked_fill(x, d.mask(), d.number()); }),
      of_x("matmul",
           [](auto& x, Draw& d) {
             return matmul(
                 x, d.tensor(),
                 {d.with_probability(0.5), d.with_probability(0.5), d.with_probability(0.1)});
           }),
      of_x("linear",
           [](auto& x, Draw& d) {
             return linear(x, d.tensor(), row_or_none(d, 0.7),
                           {.bf16_result = d.with_probability(0.2)});
           }),
      of_x("attention", any_attention),
      of_x("rotary", [](auto& x, Draw& d) { return rotary(x, d.size()); }),
      of_x("convolution",
           [=](auto& x, Draw& d) {
             const Tensor weight = fitting(d, x, [&](int64_t width) {
               return Shape{d.one_of<int64_t>({0, 1, 2}), width, kernel_size(d)};
             });
             return convolution(x, weight, row_or_none(d, 0.7), d.size());
           }),
      of_x("depthwise_convolution",
           [=](auto& x, Draw& d) {
             const Tensor weight = fitting(d, x, [&](int64_t width) {
               return Shape{width, 1, kernel_size(d)};
             });
             return depthwise_convolution(x, weight, row_or_none(d, 0.7), d.size());
           }),
      of_x("unfold", [](auto& x, Draw& d) { return unfold(x, d.size(), d.size()); }),
      of_x("fold", [](auto& x, Draw& d) { return fold(x, d.size(), d.size()); }),
      scan("rnn", 1, [](auto& x, auto& weight, auto& options) { return rnn(x, weight, options); }),
      scan("lstm", 4,
           [](auto& x, auto& weight, auto& options) { return lstm(x, weight, options); }),
      of_x("reshape",
           [](auto& x, Draw& d) {
             return reshape(x, d.with_probability(0.3) ? dims(x) : d.sizes());
           }),
      of_x("reshape",
           [](auto& x, Draw& d) {
             return reshape(x, {d.size(), d.size()});
           }),
      of_x("reshape",
           [](auto& x, Draw& d) {
             Dims sizes = {x.size()};
             if (d.with_probability(0.5)) sizes = {std::abs(d.size() % 8), std::abs(d.size() % 8)};
             return reshape(x, Shape(sizes));
           }),
      of_x("permute",
           [](auto& x, Draw& d) {
             std::vector<int> axes(d.with_probability(0.9) ? dims(x).size() : 3);
             for (int& axis : axes) axis = d.axis();
             return permute(x, axes);
           }),
      of_x("transpose", [](auto& x, Draw& d) { return transpose(x, d.axis(), d.axis()); }),
      of_x("concat", [](auto& x, Draw& d) { return concat(some_like(x, d), d.axis()); }),
      of_x("stack", [](auto& x, Draw& d) { return stack(some_like(x, d), d.axis()); }),
      of_x("slice", [](auto& x, Draw& d) { return slice(x, d.axis(), d.size(), d.size()); }),
      of_x("pad", [](auto& x, Draw& d) { return pad(x, d.axis(), d.size(), d.size()); }),
      of_x("split",
           [](auto& x, Draw& d) {
             const int64_t pieces = d.size();
             const std::vector<Tensor> made = split(x, d.axis(), pieces);
             EXPECT_EQ(std::ssize(made), pieces);
             return made.back();
           }),
      of_x("broadcast_to", [](auto& x, Draw& d) { return broadcast_to(x, d.near()); }),
      of_x("sum_to", [](auto& x, Draw& d) { return sum_to(x, d.near()); }),
      of_x("sum", [](auto& x, Draw& d) { return sum(x, d.axis(), d.with_probability(0.5)); }),
      of_x("mean", [](auto& x, Draw& d) { return mean(x, d.axis(), d.with_probability(0.5)); }),
      of_x("max", [](auto& x, Draw& d) { return max(x, d.axis(), d.with_probability(0.5)); }),
      of_x("variance",
           [](auto& x, Draw& d) {
             return variance(x, d.axis(), d.size(), d.with_probability(0.5));
           }),
      of_x("cross_entropy", any_cross_entropy),
      of_x(
          "layer_norm",
          [](auto& x, Draw& d) { return layer_norm(x, d.row(), row_or_none(d, 0.3), d.number()); }),
      of_x("rms_norm", [](auto& x, Draw& d) { return rms_norm(x, d.row(), d.number()); }),
      of_x("gather", [](auto& x, Draw& d) { return gather(x, d.axis(), d.index()); }),
      of_x("scatter_add",
           [](auto& x, Draw& d) { return scatter_add(x, d.axis(), d.index(), d.size()); }),
      {"one_hot", [](Draw& d) { return one_hot(d.index(), d.size(), d.dtype()); }},
      of_x("dropout", [](auto& x, Draw& d) { return dropout(x, d.number(), RandomStream(3)); }),
      of_x("cast", [](auto& x, Draw& d) { return cast(x, d.dtype()); }),
  };
}

class MisuseTest : public testing::TestWithParam<Call> {};

TEST_P(MisuseTest, MakesATensorOrThrowsAnErrorThatNamesTheOp) {
  const Call& call = GetParam();
  int made = 0, refused = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    std::optional<ComposedOnly> composed;
    if (draw.with_probability(0.3)) composed.emplace();
    try {
      const Tensor y = call.f(draw);
      ASSERT_TRUE(y.defined());
      ++made;
      differentiate(y, draw.with_probability(0.3));
      continue;
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), StartsWith(call.op + ": "));
    } catch (const OutOfMemory& error) {  // of the op, or of one that it is composed of
      ASSERT_THAT(error.what(), ContainsRegex("^[a-z_]+: there is not enough memory for "));
    }
    ++refused;
  }
  EXPECT_GT(made, 20);
  EXPECT_GT(refused, 20);
}

INSTANTIATE_TEST_SUITE_P(All, MisuseTest, testing::ValuesIn(listed_calls()), [](const auto& test) {
  return test.param.op + "_" + std::to_string(test.index);
});

// The prototypes of ops.h, "Tensor scale(const Tensor& x, double factor)".
std::vector<std::string> prototypes() {
  std::ifstream header(QKV_SOURCE_DIR "/framework/ops/ops.h");
  std::vector<std::string> all;
  for (std::string line; std::getline(header, line);) {
    if (!line.starts_with("Tensor ") && !line.starts_with("std::vector<Tensor> ")) continue;
    for (std::string more; line.find(");") == std::string::npos && std::getline(header, more);) {
      line += more;
    }
    all.push_back(line.substr(0, line.find(");") + 1));
  }
  return all;
}

TEST(MisuseListTest, HasEveryPrototypeThatTakesMoreThanTensors) {
  std::map<std::string, int> listed, declared;
  int of_tensors = 0;
  for (const Call& call : listed_calls()) ++listed[call.op];
  for (const std::string& prototype : prototypes()) {
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(prototype, parts, std::regex("(\\S+) (\\w+)\\((.*)\\)")))
        << prototype;
    if (std::regex_match(parts[3].str(), std::regex("(const Tensor& \\w+(, )?)+"))) {
      ++of_tensors;
    } else {
      ++declared[parts[2]];
    }
  }
  EXPECT_GT(of_tensors, 20);
  EXPECT_EQ(listed, declared);
}

TEST(MisuseListTest, EveryOpIsGivenOtherTensorsThanThoseOfItsExamples) {
  for (const OpExamples& op : op_examples()) call_with_strange_tensors(op);
}

}  // namespace
}  // namespace qkv
