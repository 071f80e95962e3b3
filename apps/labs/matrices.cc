#include "apps/labs/matrices.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "apps/labs/numbers.h"

namespace qkv {

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
  constexpr int kSweeps = 20;  // each squares what is left beside the diagonal
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

// By elimination, of which the largest number that is left is the next pivot.
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
