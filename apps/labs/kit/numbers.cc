#include "apps/labs/kit/numbers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "apps/report/statistics.h"
#include "apps/report/texts/texts.h"
#include "framework/autograd/backward.h"
#include "framework/core/clock.h"
#include "framework/graph/graph_walk.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/ops/support/scaled_dot_product_attention.h"
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

Tensor mixing_matrix(const Tensor& y, const Tensor& x) {
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < y.dim(1); ++i) {
    const Tensor number = slice(slice(y, 1, i, 1), 2, 0, 1);
    const Tensor back = backward(number, {.keep_graph = true})[x];  // [1, T, C]
    rows.push_back(reshape(slice(back, 2, 0, 1), {1, x.dim(1)}));
  }
  return concat(rows, 0);
}

double count_outside(const Tensor& x, const Tensor& y) {
  const Tensor highest = max(x, 1, true), lowest = neg(max(neg(x), 1, true));
  return count_not_zero(relu(y - highest - 1e-12) + relu(lowest - y - 1e-12));
}

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

double smallest_of(const Tensor& x) { return std::ranges::min(x.to_vector()); }

double variance_of(const Tensor& x) { return std::pow(deviation_of(x.to_vector()), 2); }

double median_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + std::ssize(numbers) / 2;
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

double median_share_of_rows(const Tensor& part, const Tensor& whole) {
  return median_of(sqrt(sum(part * part, -1) / sum(whole * whole, -1)).to_vector());
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

double largest_outside(const Tensor& matrix, int64_t r) {
  const std::vector<double> numbers = matrix.to_vector();
  const int64_t n = matrix.dim(0);
  double largest = 0;
  for (int64_t i = 0; i < n * n; ++i) {
    if (std::abs(i / n - i % n) <= r) continue;
    largest = std::max(largest, std::abs(numbers[static_cast<size_t>(i)]));
  }
  return largest;
}

int64_t reach_of(const Tensor& matrix) {
  int64_t reach = matrix.dim(0) - 1;
  while (reach > 0 && largest_outside(matrix, reach - 1) == 0) --reach;
  return reach;
}

double longest_chain(const Tensor& y) {
  auto nodes = nodes_behind(y.node());
  std::ranges::reverse(nodes);  // nodes come before their users
  std::unordered_map<const Node*, int64_t> length;
  for (const auto& node : nodes) {
    int64_t longest = 0;
    for (const Tensor& input : node->inputs()) {
      if (input.requires_grad()) longest = std::max(longest, length[input.node().get()]);
    }
    length[node.get()] = node->is_leaf() ? 0 : longest + 1;
  }
  return static_cast<double>(length[y.node().get()]);
}

Traced attend_in_steps(const Tensor& query, const Tensor& key, const Tensor& value,
                       const AttentionOptions& options) {
  Traced attended;
  const Tracing tracing(attended.trace);
  attended.result = scaled_dot_product_attention(query, key, value, options);
  return attended;
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

// By the rotations of Jacobi, 1846: each makes a pair of numbers beside the diagonal zero.
std::vector<double> eigenvalues_of(const Tensor& symmetric) {
  const auto n = static_cast<size_t>(symmetric.dim(0));
  std::vector<double> a = symmetric.to_vector();
  const auto rotate = [&](size_t p, size_t q) {
    const double angle = 0.5 * std::atan2(2 * a[p * n + q], a[q * n + q] - a[p * n + p]);
    const double c = std::cos(angle), s = std::sin(angle);
    for (size_t k = 0; k < n; ++k) {
      const double left = a[k * n + p], right = a[k * n + q];
      a[k * n + p] = c * left - s * right;
      a[k * n + q] = s * left + c * right;
    }
    for (size_t k = 0; k < n; ++k) {
      const double upper = a[p * n + k], lower = a[q * n + k];
      a[p * n + k] = c * upper - s * lower;
      a[q * n + k] = s * upper + c * lower;
    }
  };
  constexpr int kSweeps = 20;  // each squares the rest beside the diagonal
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (size_t p = 0; p + 1 < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) rotate(p, q);
    }
  }
  std::vector<double> eigenvalues;
  for (size_t i = 0; i < n; ++i) eigenvalues.push_back(a[i * n + i]);
  std::ranges::sort(eigenvalues, std::greater());
  return eigenvalues;
}

// By elimination, with the largest number left as the next pivot.
double rank_of(const Tensor& matrix) {
  const auto n = static_cast<size_t>(matrix.dim(0));
  std::vector<double> a = matrix.to_vector();
  constexpr double kSmallest = 1e-10;
  double first = 0;
  for (size_t step = 0; step < n; ++step) {
    size_t row = step, column = step;
    for (size_t i = step; i < n; ++i) {
      for (size_t j = step; j < n; ++j) {
        if (std::abs(a[i * n + j]) > std::abs(a[row * n + column])) row = i, column = j;
      }
    }
    const double pivot = a[row * n + column];
    if (step == 0) first = std::abs(pivot);
    if (std::abs(pivot) <= kSmallest * first) return static_cast<double>(step);
    for (size_t j = 0; j < n; ++j) std::swap(a[step * n + j], a[row * n + j]);
    for (size_t i = 0; i < n; ++i) std::swap(a[i * n + step], a[i * n + column]);
    for (size_t i = step + 1; i < n; ++i) {
      const double factor = a[i * n + step] / pivot;
      for (size_t j = step; j < n; ++j) a[i * n + j] -= factor * a[step * n + j];
    }
  }
  return static_cast<double>(n);
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
