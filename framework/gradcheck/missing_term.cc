#include "framework/gradcheck/missing_term.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace qkv {
namespace {

using Values = std::vector<double>;

// Places in an array: start, start + stride, …
struct StridedLine {
  int64_t start, stride, size;
};

// c with difference = c factor along the line, if there is one.
std::optional<double> multiple_along(const StridedLine& line, std::span<const double> difference,
                                     std::span<const double> factor, double precision) {
  double df = 0.0, ff = 0.0;
  for (int64_t i = 0; i < line.size; ++i) {
    const int64_t at = line.start + i * line.stride;
    df += difference[at] * factor[at], ff += factor[at] * factor[at];
  }
  if (!(ff > 0.0)) return std::nullopt;
  const double c = df / ff;
  for (int64_t i = 0; i < line.size; ++i) {
    const int64_t at = line.start + i * line.stride;
    if (!(std::abs(difference[at] - c * factor[at]) <= precision)) return std::nullopt;
  }
  return c;
}

bool is_multiple_along(const Shape& shape, int axis, std::span<const double> difference,
                       std::span<const double> factor, double precision) {
  int64_t inner = 1;
  for (int k = axis + 1; k < shape.rank(); ++k) inner *= shape[k];
  const int64_t size = shape[axis], outer = shape.size() / (inner * size);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const StridedLine line = {.start = o * size * inner + i, .stride = inner, .size = size};
      if (!multiple_along(line, difference, factor, precision)) return false;
    }
  }
  return true;
}

Values product(std::span<const double> a, std::span<const double> b) {
  Values result(a.begin(), a.end());
  for (size_t i = 0; i < result.size(); ++i) result[i] *= b[i];
  return result;
}

}  // namespace

std::string explain_missing_term(const Shape& shape, std::span<const double> difference,
                                 std::span<const double> x, std::span<const double> y,
                                 std::span<const double> dy, double precision) {
  constexpr int64_t kFewest = 3;  // numbers that a pattern must explain with one of its own
  const auto size = static_cast<size_t>(shape.size());
  if (difference.size() != size || x.size() != size || shape.size() < kFewest) return "";
  const bool has_shape_of_y = y.size() == size && dy.size() == size;
  const StridedLine all = {.start = 0, .stride = 1, .size = shape.size()};
  struct Term {
    const char* name;
    Values factor;
  };
  std::vector<Term> terms;
  if (has_shape_of_y) {
    terms = {{"dy", {dy.begin(), dy.end()}}, {"x dy", product(x, dy)}, {"y dy", product(y, dy)}};
  }
  for (const Term& term : terms) {
    const std::optional<double> c = multiple_along(all, difference, term.factor, precision);
    if (!c) continue;
    return absl::StrFormat("a term is wrong or left out: numeric - analytic = %.6g %s everywhere",
                           *c, term.name);
  }
  std::vector<Term> row_terms = {{"", Values(size, 1.0)}, {" times x", {x.begin(), x.end()}}};
  if (has_shape_of_y) row_terms.push_back({" times y", {y.begin(), y.end()}});
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] < kFewest) continue;
    for (const Term& term : row_terms) {
      if (!is_multiple_along(shape, axis, difference, term.factor, precision)) continue;
      return absl::StrCat("a term is wrong or left out: numeric - analytic is one number",
                          shape.rank() > 1 ? absl::StrCat(" for each row along axis ", axis) : "",
                          term.name, ": a sum or a mean over it?");
    }
  }
  return "";
}

}  // namespace qkv
