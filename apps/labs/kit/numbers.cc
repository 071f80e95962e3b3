#include "apps/labs/kit/numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/report/statistics.h"
#include "apps/report/texts/texts.h"
#include "framework/autograd/backward.h"
#include "framework/core/clock.h"
#include "framework/graph/modes.h"
#include "framework/optim/optimizer.h"

namespace qkv {

Tensor constant_f64(const Shape& shape, const std::vector<double>& numbers) {
  return constant(shape, numbers, DType::f64);
}

Tensor random_normal(RandomStream random, const Shape& shape) {
  return random_normal(shape, random, DType::f64);
}

Tensor random_normal(const RandomStream& random, std::string_view purpose, const Shape& shape) {
  return random_normal(random.derive(purpose), shape);
}

Tensor as_parameter(const Tensor& x) { return parameter(x.array()); }

Tensor tokens_of(const std::vector<int64_t>& tokens) {
  return Tensor(Array::of({std::ssize(tokens)}, tokens));
}

Tensor counted(int64_t n) {
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return tokens_of(numbers);
}

Tensor random_tokens(RandomStream random, const Shape& shape, int64_t vocabulary) {
  std::vector<int64_t> tokens(static_cast<size_t>(shape.size()));
  for (int64_t& token : tokens) {
    token = static_cast<int64_t>(random.below(static_cast<uint64_t>(vocabulary)));
  }
  return Tensor(Array::of(shape, tokens));
}

Tensor random_order(RandomStream& random, int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, random);
  return tokens_of(order);
}

Tensor identity(int64_t n) { return one_hot(counted(n), n, DType::f64); }

Tensor transposed(const Tensor& matrix) { return transpose(matrix, 0, 1); }

Tensor row_of(const Tensor& x, int64_t i) { return slice(x, 0, i, 1); }

Tensor one_head(const Tensor& x) { return reshape(x, {1, x.dim(-2), 1, x.dim(-1)}); }

Tensor products_of_rows(const Tensor& a, const Tensor& b) {
  return matmul(a, b, {.transpose_b = true});
}

Tensor lengths_of_rows(const Tensor& x) { return sqrt(sum(x * x, -1)); }

double size_of(const Tensor& x) {
  double squares = 0;
  for (const double number : x.to_vector()) squares += number * number;
  return std::sqrt(squares);
}

double largest_of(const Tensor& x) {
  double largest = 0;
  for (const double number : x.to_vector()) {
    if (std::isnan(number)) return number;
    largest = std::max(largest, std::abs(number));
  }
  return largest;
}

double variance_of(const Tensor& x) { return std::pow(deviation_of(x.to_vector()), 2); }

std::vector<double> shares_of_rows(const Tensor& part, const Tensor& whole) {
  std::vector<double> shares = sqrt(sum(part * part, -1) / sum(whole * whole, -1)).to_vector();
  std::ranges::sort(shares);
  return shares;
}

double quantile_of(const std::vector<double>& ascending, double u) {
  return ascending[static_cast<size_t>(u * static_cast<double>(ascending.size()))];
}

std::vector<int64_t> places_of_largest(const Tensor& x) {
  const std::vector<double> numbers = x.to_vector();
  std::vector<int64_t> places;
  for (auto row = numbers.begin(); row != numbers.end(); row += x.dim(-1)) {
    places.push_back(std::max_element(row, row + x.dim(-1)) - row);
  }
  return places;
}

double count_not_zero(const Tensor& x) {
  const std::vector<double> numbers = x.to_vector();
  return static_cast<double>(std::ssize(numbers) - std::ranges::count(numbers, 0.0));
}

double share_in_order(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  const auto n = static_cast<size_t>(a.dim(1));
  double pairs = 0, agreeing = 0;
  for (size_t row = 0; row < x.size(); row += n) {
    for (size_t i = row; i < row + n; ++i) {
      for (size_t j = row; j < row + n; ++j) {
        if (y[i] <= y[j]) continue;
        pairs += 1;
        agreeing += x[i] > x[j] ? 1 : 0;
      }
    }
  }
  return agreeing / pairs;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const NoGrad no_grad;
  return largest_of(a - b);
}

MultiHeadAttention attention_layer(Initializer& init, int64_t width, int64_t heads) {
  const double deviation = 1 / std::sqrt(static_cast<double>(width));
  const auto map = [&] { return Linear(init, width, width, false, deviation); };
  MultiHeadAttention layer;
  layer.query = map();
  layer.key = map();
  layer.value = map();
  layer.output = map();
  layer.num_heads = heads;
  return layer;
}

MultiHeadAttention attention_layer(const RandomStream& random, int64_t width, int64_t heads) {
  Initializer init(random, DType::f64);
  return attention_layer(init, width, heads);
}

std::vector<double> train_with_adam(const std::vector<NamedParameter>& parameters, int64_t steps,
                                    const std::function<Tensor(uint64_t step)>& loss_of_step,
                                    double learning_rate, Rate rate) {
  const auto optimizer =
      make_optimizer({.kind = OptimizerKind::kAdam, .weight_decay = 0}, parameters);
  std::vector<double> losses;
  for (int64_t step = 0; step < steps; ++step) {
    const Tensor loss = loss_of_step(static_cast<uint64_t>(step));
    const Gradients gradients = backward(loss);
    std::vector<Tensor> in_order;
    for (const NamedParameter& each : parameters) {
      in_order.push_back(gradients.contains(each.tensor)
                             ? gradients[each.tensor]
                             : zeros(each.tensor.shape(), each.tensor.dtype()));
    }
    const double left = static_cast<double>(steps - step) / static_cast<double>(steps);
    optimizer->step(in_order, rate == Rate::kFalling ? learning_rate * left : learning_rate);
    losses.push_back(loss.item());
  }
  return losses;
}

double loss_at_end(const std::vector<double>& losses) {
  return mean_of(std::span(losses).last((losses.size() + 9) / 10));
}

std::vector<double> milliseconds_of(int calls, const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    const auto begin = Clock::now();
    call();
    times.push_back(1e3 * seconds_since(begin));
  }
  std::ranges::sort(times);
  return times;
}

HeatMap heat_map_of(const Text& title, const Tensor& matrix, const Text& row_axis,
                    const Text& column_axis) {
  return {.title = title,
          .rows = matrix.dim(0),
          .columns = matrix.dim(1),
          .numbers = matrix.to_vector(),
          .row_axis = row_axis,
          .column_axis = column_axis};
}

HeatMap map_of_inputs(const Text& title, const Tensor& matrix) {
  return heat_map_of(title, reshape(matrix, {matrix.dim(-2), matrix.dim(-1)}), say("output i"),
                     say("input j"));
}

// The eigenvectors of XᵀX, by power iteration.
Tensor principal_axes(const Tensor& centred) {
  Tensor scatter = matmul(centred, centred, {.transpose_a = true});
  std::vector<Tensor> axes;
  constexpr int kPowers = 300;
  for (uint64_t k = 0; k < 2; ++k) {
    Tensor axis = random_normal(RandomStream(1).derive(k), {scatter.dim(0), 1});
    for (int i = 0; i < kPowers; ++i) {
      axis = matmul(scatter, axis);
      axis = axis / size_of(axis);
    }
    const Tensor found = matmul(axis, axis, {.transpose_b = true});
    scatter = scatter - matmul(found, matmul(scatter, found));
    axes.push_back(axis);
  }
  return concat(axes, 1);
}

}  // namespace qkv
