#include "lessons/labs/numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "framework/graph/node.h"
#include "framework/ops/ops.h"

namespace qkv {

Tensor constant_f64(const Shape& shape, const std::vector<double>& numbers) {
  return Tensor(Array::of(shape, DType::f64, numbers));
}

Tensor random_normal(RandomStream random, const Shape& shape) {
  std::vector<double> numbers(static_cast<size_t>(shape.size()));
  for (double& x : numbers) x = random.normal();
  return constant_f64(shape, numbers);
}

Tensor as_parameter(const Tensor& x) { return parameter(x.array()); }

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

double count_not_zero(const Tensor& x) {
  const std::vector<double> numbers = x.to_vector();
  return static_cast<double>(std::ssize(numbers) - std::ranges::count(numbers, 0.0));
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const NoGrad no_grad;
  return largest_of(a - b);
}

double longest_chain(const Tensor& y) {
  auto nodes = nodes_behind(y.node());
  std::ranges::reverse(nodes);  // what is used comes before its users
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

Series numbered_series(std::string name, std::vector<double> y, int64_t first) {
  std::vector<double> x(y.size());
  std::iota(x.begin(), x.end(), static_cast<double>(first));
  return {.name = std::move(name), .x = std::move(x), .y = std::move(y)};
}

HeatMap heat_map_of(const std::string& title, const Tensor& matrix) {
  return {.title = title,
          .rows = matrix.dim(0),
          .columns = matrix.dim(1),
          .numbers = matrix.to_vector()};
}

}  // namespace qkv
