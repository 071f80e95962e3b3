// Attention over three tokens, forward and backward, with every number shown:
//
//   scores  = query keyᵀ / sqrt(D)        [T, T]
//   weights = softmax(scores)             [T, T], each row sums to 1
//   output  = weights value               [T, D]
//   loss    = mean((output - target)²)    a scalar
//
// T = 3 tokens, D = 2 numbers each. Change a number, and see which gradients move.
#include <cmath>
#include <cstdio>

#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"

using qkv::DType;
using qkv::Tensor;

struct Attention {
  Tensor scores, weights, output, loss;
};

Attention attend(const Tensor& query, const Tensor& key, const Tensor& value,
                 const Tensor& target) {
  const double d_k = static_cast<double>(query.dim(-1));
  Attention a;
  a.scores = qkv::matmul(query, key, {.transpose_b = true}) / std::sqrt(d_k);  // [T, T]
  a.weights = qkv::softmax(a.scores);                                          // [T, T]
  a.output = qkv::matmul(a.weights, value);                                    // [T, D]
  const Tensor error = a.output - target;                                      // [T, D]
  a.loss = qkv::mean(error * error);
  return a;
}

Tensor matrix(std::initializer_list<double> values) {
  return qkv::constant({3, 2}, values, DType::f64);
}

// A leaf: backward finds its gradient.
Tensor leaf(const Tensor& values) { return qkv::parameter(values.array()); }

void print(const char* title, const Tensor& tensor) {
  std::printf("%s\n", title);
  const std::vector<double> values = tensor.to_vector();
  const auto columns = static_cast<size_t>(tensor.dim(-1));
  for (size_t i = 0; i < values.size(); ++i) {
    std::printf("%10.4f%s", values[i], (i + 1) % columns == 0 ? "\n" : "");
  }
}

int main() {
  const Tensor query = leaf(matrix({1.0, 0.0, 0.0, 1.0, 1.0, 1.0}));
  const Tensor key = leaf(matrix({1.0, 0.5, -0.5, 1.0, 0.0, -1.0}));
  const Tensor value = leaf(matrix({1.0, 2.0, 3.0, -1.0, 0.5, 4.0}));
  const Tensor target = matrix({2.0, 0.0, 1.0, 1.0, 0.0, 2.0});

  const Attention a = attend(query, key, value, target);
  print("scores = query keyᵀ / sqrt(D)", a.scores);
  print("weights = softmax(scores): how much a token (row) looks at each (column)", a.weights);
  print("output = weights value", a.output);
  std::printf("loss = mean((output - target)²)\n%10.4f\n\n", a.loss.item());

  // Gradients are values. Those of tensors between the leaves and the loss are there for the
  // asking.
  const qkv::Gradients gradient = qkv::backward(a.loss, {.keep = {a.scores, a.weights, a.output}});
  print("doutput = 2 (output - target) / (T D)", gradient[a.output]);
  print("dvalue = weightsᵀ doutput", gradient[value]);
  print("dweights = doutput valueᵀ", gradient[a.weights]);
  print("dscores = weights * (dweights - sum(weights * dweights)): each row sums to 0",
        gradient[a.scores]);
  print("dquery = dscores key / sqrt(D)", gradient[query]);
  print("dkey = dscoresᵀ query / sqrt(D)", gradient[key]);

  // Is it true? Move one number a little, and see how far the loss goes.
  const double step = 1e-6;
  const double above =
      attend(matrix({1.0 + step, 0.0, 0.0, 1.0, 1.0, 1.0}), key, value, target).loss.item();
  const double below =
      attend(matrix({1.0 - step, 0.0, 0.0, 1.0, 1.0, 1.0}), key, value, target).loss.item();
  std::printf("\ndquery[0, 0] by moving query[0, 0]\n%10.4f\n", (above - below) / (2 * step));
}
