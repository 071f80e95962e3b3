// A transformer that learns to count in circles: after 0 1 2 3 4 comes 0 again.
#include <algorithm>
#include <cstdio>

#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "framework/optim/optimizer.h"
#include "models/decoder.h"

using qkv::Array;
using qkv::Tensor;

constexpr int64_t kVocabulary = 5;
constexpr int64_t kLength = 8;

// Row b counts from `first` + b: tokens [B, T].
Tensor counting(int64_t batch, int64_t first) {
  std::vector<int64_t> tokens;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t t = 0; t < kLength; ++t) tokens.push_back((first + b + t) % kVocabulary);
  }
  return Tensor(Array::of({batch, kLength}, tokens));
}

int main() {
  const qkv::ModelOptions options{.num_layers = 1, .d_model = 16, .num_heads = 2, .d_ff = 32};
  const qkv::Decoder model(options, {kVocabulary, kLength},
                           qkv::Initializer(qkv::RandomStream(1), qkv::DType::f64));
  const std::vector<qkv::NamedParameter> parameters = qkv::parameters(model);
  for (const auto& [name, tensor] : parameters) {
    std::printf("%-40s %s\n", name.c_str(), tensor.describe().c_str());
  }

  const auto optimizer = qkv::make_optimizer({.learning_rate = 0.01}, parameters);
  const Tensor tokens = counting(kVocabulary, 0);   // [B, T]
  const Tensor targets = counting(kVocabulary, 1);  // [B, T]: of each token, the next
  for (int step = 0; step <= 60; ++step) {
    qkv::ForwardContext context{.training = true};
    const Tensor logits = model(tokens, context);  // [B, T, V]
    const Tensor loss = qkv::cross_entropy(logits, targets);
    if (step % 20 == 0) std::printf("step %2d  loss %.3f\n", step, loss.item());

    const qkv::Gradients gradient = qkv::backward(loss);
    std::vector<Tensor> gradients;
    for (const auto& [name, tensor] : parameters) gradients.push_back(gradient[tensor]);
    optimizer->step(gradients, /*learning_rate=*/0.01);
  }

  qkv::ForwardContext context;
  const std::vector<double> logits = model(counting(1, 2), context).to_vector();
  std::printf("asked    2 3 4 0 1 2 3 4\nanswered");
  for (int64_t t = 0; t < kLength; ++t) {
    const auto row = logits.begin() + t * kVocabulary;
    std::printf(" %td", std::max_element(row, row + kVocabulary) - row);
  }
  std::printf("\n");
}
