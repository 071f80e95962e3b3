#include "apps/report/gradcheck/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "framework/core/shape.h"

namespace qkv {
namespace {

using Values = std::vector<double>;

constexpr double kClose = 1e-6;  // of the largest element
// A pattern leaves no more than this of the difference that it explains.
constexpr double kUnexplained = 0.01;

double largest_value(const Values& values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

bool close(const Values& a, const Values& b, double limit) {
  return std::ranges::equal(a, b, [&](double x, double y) { return std::abs(x - y) <= limit; });
}

// c with a = c n at every element, to the precision of n, if there is one.
std::optional<double> factor_between(const NumericGradient& gradient) {
  const Values &a = gradient.analytic, &n = gradient.numeric;
  double an = 0.0, nn = 0.0;
  for (size_t i = 0; i < a.size(); ++i) an += a[i] * n[i], nn += n[i] * n[i];
  if (an == 0.0 || nn == 0.0) return std::nullopt;
  const double c = an / nn;
  int64_t nonzero = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double unexplained = std::abs(a[i] - c * n[i]), error = std::abs(c) * gradient.error[i];
    if (!(unexplained <= kClose * std::abs(a[i]) + error)) return std::nullopt;
    if (!(unexplained <= kUnexplained * std::abs(a[i] - n[i]) + error)) return std::nullopt;
    nonzero += std::abs(n[i]) > gradient.error[i] ? 1 : 0;
  }
  // One element, or one that is not zero, shows no pattern unless the number is a known one.
  if (nonzero < 2 && recognizable(c).empty()) return std::nullopt;
  return c;
}

// Not a large one, which any number is near to.
bool is_whole(double x) {
  constexpr double kMaxInteger = 1e4;
  return x <= kMaxInteger && std::abs(x - std::round(x)) <= kClose * x;
}

// Whether two of the elements that are `moved` have another index along an axis of that size.
bool mixes_axis(const Shape& shape, int64_t size, const std::vector<int64_t>& moved) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto index = [&](int64_t i) { return index_of(shape, i)[axis]; };
    const auto differs = [&](int64_t i) { return index(i) != index(moved[0]); };
    if (shape[axis] == size && std::ranges::any_of(moved, differs)) return true;
  }
  return false;
}

// Whether the op sums over `size` numbers: of the input for one output, or of the output for the
// derivative by one element.
bool is_at_home(const InputReport& report, const NumericGradient& gradient, int64_t size) {
  const std::vector<std::vector<char>>& moves = gradient.moves;
  if (moves.empty()) return true;  // not known
  const auto is_sum = [size](const Shape& shape, const std::vector<int64_t>& moved) {
    return moved.size() > 1 && (std::ssize(moved) == size || mixes_axis(shape, size, moved));
  };
  for (const std::vector<char>& row : moves) {
    std::vector<int64_t> elements;
    for (size_t e = 0; e < row.size(); ++e) {
      if (row[e] != 0) elements.push_back(gradient.elements[e]);
    }
    if (is_sum(report.shape, elements)) return true;
  }
  for (size_t e = 0; e < moves[0].size(); ++e) {
    std::vector<int64_t> outputs;
    for (size_t k = 0; k < moves.size(); ++k) {
      if (moves[k][e] != 0) outputs.push_back(static_cast<int64_t>(k));
    }
    if (is_sum(report.output_shape, outputs)) return true;
  }
  return false;
}

std::string axes_of_size(const InputReport& report, const NumericGradient& gradient, int64_t size) {
  const auto has = [size](const Shape& shape) {
    return std::ranges::find(shape.dims(), size) != shape.dims().end();
  };
  if (size < 2 || !is_at_home(report, gradient, size)) return "";
  if (has(report.shape)) return absl::StrCat(" (", size, " is a size of the input)");
  if (has(report.output_shape)) return absl::StrCat(" (", size, " is a size of the output)");
  if (size == report.shape.size()) return absl::StrCat(" (the input has ", size, " elements)");
  const auto has_rows = [size](const Shape& shape) {
    return shape.rank() > 2 && shape.size() > 0 && size == shape.without(-1).size();
  };
  if (has_rows(report.shape)) return absl::StrCat(" (the input has ", size, " rows)");
  if (has_rows(report.output_shape)) return absl::StrCat(" (the output has ", size, " rows)");
  return "";
}

std::string explain_factor(const InputReport& report, const NumericGradient& gradient, double c) {
  const bool is_nearly_one = std::abs(std::abs(c) - 1.0) < 1e-4 && c > 0.0;
  const std::string name = is_nearly_one ? "" : recognizable(c);
  const std::string number = !name.empty()   ? name
                             : is_nearly_one ? absl::StrFormat("%.9g", c)
                                             : absl::StrFormat("%.6g", c);
  const std::string head = absl::StrCat("analytic = ", number, " x numeric everywhere");
  if (is_nearly_one) return head + ": a factor";
  if (c < 0.0 && std::abs(c + 1.0) < kClose) return head + ": the sign is wrong";
  const double size = std::abs(c), inverse = 1.0 / size;
  const double square = size > 1.0 ? size * size : inverse * inverse;
  std::string text =
      absl::StrCat(head, c < 0.0 ? ": the sign is wrong, and a factor" : ": a factor");
  const double n = size > 1.0 ? size : inverse;
  const std::string axes = is_whole(n) ? axes_of_size(report, gradient, std::llround(n)) : "";
  const bool may_be_one_of_two = std::abs(c - 0.5) < kClose;
  if (!axes.empty()) {
    return absl::StrCat(
        text, axes, ": a sum taken for a mean, or ",
        may_be_one_of_two ? "an input that is used twice counted once?" : "the reverse?");
  }
  const std::string squares =
      is_whole(square) ? axes_of_size(report, gradient, std::llround(square)) : "";
  if (!squares.empty()) return absl::StrCat(text, squares, ": a scale left out or applied twice?");
  if (may_be_one_of_two) {
    absl::StrAppend(&text, ": is an input that is used twice counted once?");
  }
  return text;
}

// Calls f for the offset of each line along `axis`, and with the distance of its elements.
void for_each_line(const Shape& shape, int axis,
                   const std::function<void(int64_t start, int64_t stride)>& f) {
  int64_t inner = 1;
  for (int k = axis + 1; k < shape.rank(); ++k) inner *= shape[k];
  const int64_t size = shape[axis];
  for (int64_t outer = 0; outer < shape.size() / (inner * size); ++outer) {
    for (int64_t i = 0; i < inner; ++i) f(outer * size * inner + i, inner);
  }
}

// The numbers of x with its last axes swapped, in x's own order.
Values transposed(const Values& x, const Shape& shape) {
  const int64_t rows = shape[-2], columns = shape[-1];
  Values y(x.size());
  for (int64_t start = 0; start < shape.size(); start += rows * columns) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        y[start + j * rows + i] = x[start + i * columns + j];
      }
    }
  }
  return y;
}

std::string explain_transposed(const Shape& shape, const Values& analytic, const Values& numeric,
                               double limit) {
  if (shape.rank() < 2 || shape[-1] < 2 || shape[-2] < 2) return "";
  if (!close(analytic, transposed(numeric, shape), limit)) return "";
  return "transposed: analytic[i, j] is numeric[j, i] in the last two axes";
}

// numeric is the same along an axis, and the sum of analytic over it.
std::string explain_unsummed(const Shape& shape, const Values& analytic, const Values& numeric,
                             double limit) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 2) continue;
    Values sums(analytic.size());
    for_each_line(shape, axis, [&](int64_t start, int64_t stride) {
      double sum = 0.0;
      for (int64_t i = 0; i < shape[axis]; ++i) sum += analytic[start + i * stride];
      for (int64_t i = 0; i < shape[axis]; ++i) sums[start + i * stride] = sum;
    });
    if (close(sums, numeric, limit)) {
      return absl::StrCat("not summed over axis ", axis,
                          ": numeric is the sum of analytic over it, the same at every index");
    }
  }
  return "";
}

std::string explain_contributions(const Values& analytic, const Values& numeric,
                                  const std::vector<Values>& contributions, double limit) {
  if (contributions.size() < 2) return "";
  Values sum(analytic.size());
  for (const Values& term : contributions) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
  }
  if (!close(sum, numeric, limit)) return "";
  for (size_t k = 0; k < contributions.size(); ++k) {
    if (!close(contributions[k], analytic, limit)) continue;
    return absl::StrCat("the input is used ", contributions.size(),
                        " times and one use is counted: gradients are overwritten, not added");
  }
  return "";
}

// The common index of all `chosen` elements: "index 2 of axis 0".
std::string common_index(const Shape& shape, const std::function<bool(int64_t)>& chosen) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 2) continue;
    std::vector<int64_t> indices(static_cast<size_t>(shape[axis]));
    for (int64_t i = 0; i < shape.size(); ++i) {
      if (chosen(i)) ++indices[index_of(shape, i)[axis]];
    }
    const auto used = std::ranges::count_if(indices, [](int64_t n) { return n > 0; });
    if (used != 1) continue;
    const auto index = std::ranges::find_if(indices, [](int64_t n) { return n > 0; });
    return absl::StrCat("index ", index - indices.begin(), " of axis ", axis);
  }
  return "";
}

// Entries of the Jacobian that are zero and should not be, all at outputs other than one index.
std::string explain_broadcast(const InputReport& report, const NumericGradient& gradient) {
  if (!gradient.only_missing || report.shape.size() >= report.output_shape.size()) return "";
  const auto right = [&](int64_t k) { return gradient.right[k] != 0; };
  if (gradient.right.empty()) return "";
  const std::string index = common_index(report.output_shape, right);
  if (index.empty()) return "";
  return absl::StrCat("a broadcast that was not summed: only outputs at ", index,
                      " reach this input, and others should");
}

std::string explain_missing(const NumericGradient& gradient) {
  if (!gradient.only_missing || std::ranges::count(gradient.right, char{1}) == 0) return "";
  return "terms are left out: the entries of the Jacobian that are wrong are all zero, the others "
         "right";
}

std::string explain_place(const InputReport& report, const NumericGradient& gradient) {
  constexpr double kRight = 1e-8;
  const auto wrong = [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    const double a = gradient.analytic[k], n = gradient.numeric[k];
    return !(std::abs(a - n) <= kRight * std::abs(a) + gradient.error[k]);
  };
  const std::string index = common_index(report.shape, wrong);
  return index.empty() ? "" : absl::StrCat("only elements at ", index, " are wrong");
}

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
  bool is_multiple = true;
  for_each_line(shape, axis, [&](int64_t start, int64_t stride) {
    const StridedLine line = {.start = start, .stride = stride, .size = shape[axis]};
    is_multiple = is_multiple && multiple_along(line, difference, factor, precision);
  });
  return is_multiple;
}

Values product(std::span<const double> a, std::span<const double> b) {
  Values result(a.begin(), a.end());
  for (size_t i = 0; i < result.size(); ++i) result[i] *= b[i];
  return result;
}

// The term missing in a gradient of x, if it is one of
//
//   c dy, c x dy, c y dy                     with one number c: that of a sum or a product
//   c_r, c_r x, c_r y                        with a number for each row r along some axis: those of
//                                            functions that divide by a sum or a mean over it
//
// (softmax: -y sum(y dy); layer_norm: mean(dy) and y mean(y dy)). All are of the shape of x, but
// for y and dy, which may have another: then terms of them are not looked for. `difference` is
// numeric - analytic, known to `precision`.
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

// p with numeric = c analytic w^p at every element, and a c that is recognizable, as text: "w²";
// "" if there is none.
std::string missing_power(const NumericGradient& gradient, const Values& w) {
  const Values &analytic = gradient.analytic, &numeric = gradient.numeric;
  constexpr size_t kFewest = 3;
  std::vector<std::pair<double, double>> points;  // w and numeric / analytic
  for (size_t i = 0; i < w.size(); ++i) {
    if (std::abs(numeric[i]) <= gradient.error[i] && analytic[i] == 0.0) continue;
    points.emplace_back(w[i], numeric[i] / analytic[i]);
  }
  if (points.size() < kFewest) return "";
  const auto by_size = [](const auto& point) { return std::abs(point.first); };
  const auto [low, high] = std::ranges::minmax(points, {}, by_size);
  const double p = std::round(2.0 * std::log(std::abs(high.second / low.second)) /
                              std::log(std::abs(high.first / low.first))) /
                   2.0;
  if (!(p != 0.0 && std::abs(p) <= 3.0)) return "";
  const double c = high.second / std::pow(high.first, p);
  const auto fits = [&](const auto& point) {
    return std::abs(point.second - c * std::pow(point.first, p)) <= kClose * std::abs(point.second);
  };
  if (recognizable(c).empty() || !std::ranges::all_of(points, fits)) return "";
  return absl::StrCat(std::abs(c - 1.0) < kClose ? "" : recognizable(c) + " ", "w",
                      p == 1.0 ? "" : absl::StrFormat("^%g", p));
}

// With a w that the op has: of its inputs, its result, or what it saves.
std::string explain_power(const WrongGradient& c) {
  std::vector<std::pair<std::string, Values>> known = {{"x", c.x}, {"y", c.y}};
  known.insert(known.end(), c.others.begin(), c.others.end());
  for (const auto& [name, numbers] : known) {
    if (numbers.size() != c.gradient.analytic.size()) continue;
    for (const double sign : {0.0, -1.0, 1.0}) {
      Values w = numbers;
      for (double& each : w) each = sign == 0.0 ? each : 1.0 + sign * each;
      const std::string power = missing_power(c.gradient, w);
      if (power.empty()) continue;
      const std::string factor =
          sign == 0.0 ? name : absl::StrCat("(1 ", sign < 0.0 ? "-" : "+", " ", name, ")");
      return absl::StrCat("numeric = analytic times ", absl::StrReplaceAll(power, {{"w", factor}}),
                          " everywhere: a power is wrong or left out");
    }
  }
  return "";
}

}  // namespace

std::string recognizable(double number) {
  const double size = std::abs(number);
  if (!(size >= 1e-4 && size <= 1e4)) return "";
  const std::string sign = number < 0.0 ? "-" : "";
  const bool above = size >= 1.0;
  const double n = above ? size : 1.0 / size;
  const std::string over = above ? "" : "1/";
  if (is_whole(n)) {
    const int64_t whole = std::llround(n);
    return absl::StrCat(sign, whole == 1 ? "" : over, whole);
  }
  if (is_whole(n * n)) return absl::StrCat(sign, over, "sqrt(", std::llround(n * n), ")");
  return "";
}

std::string diagnose(const WrongGradient& c) {
  const InputReport& report = c.report;
  const Values &analytic = c.gradient.analytic, &numeric = c.gradient.numeric;
  const auto finite = [](double x) { return std::isfinite(x); };
  const auto bad = std::ranges::find_if_not(analytic, finite);
  if (bad != analytic.end()) {
    return absl::StrCat("the gradient is ", std::isnan(*bad) ? "NaN" : "infinite", " at ",
                        analytic.size() - std::ranges::count_if(analytic, finite), " of ",
                        analytic.size(), " elements, first at ",
                        position(report.shape, c.gradient.elements[bad - analytic.begin()]));
  }
  if (!std::ranges::all_of(numeric, finite)) return "";  // the function, not its gradient
  if (c.gradient.cotangent_is_right) {
    return c.is_linear ? ""
                       : "right for a random cotangent and wrong for single outputs: backward is "
                         "not linear in its cotangent";
  }
  if (largest_value(analytic) == 0.0 && report.order == 2 && report.ignored) {
    return "not differentiable again: backward computes this gradient without ops that have one";
  }
  if (largest_value(analytic) == 0.0) {
    return "all zero: the gradient is left out, or the input detached";
  }
  Values difference = numeric;
  for (size_t i = 0; i < difference.size(); ++i) difference[i] -= analytic[i];
  const double limit = std::min(kClose * std::max(largest_value(analytic), largest_value(numeric)),
                                kUnexplained * largest_value(difference));
  const bool whole = static_cast<int64_t>(analytic.size()) == report.shape.size();
  std::string text;
  if (whole) text = explain_contributions(analytic, numeric, c.contributions, limit);
  if (text.empty() && whole) text = explain_broadcast(report, c.gradient);
  if (!text.empty()) return text;
  const auto factor = factor_between(c.gradient);
  const bool is_one_over_cotangent =
      factor && c.dy.size() == 1 && std::abs(*factor * c.dy[0] - 1.0) < kClose;
  if (is_one_over_cotangent && !c.is_linear) return "backward leaves its cotangent out";
  if (factor) return explain_factor(report, c.gradient, *factor);
  if (!whole) return "";
  text = explain_transposed(report.shape, analytic, numeric, limit);
  if (text.empty()) text = explain_unsummed(report.shape, analytic, numeric, limit);
  if (text.empty()) text = explain_place(report, c.gradient);
  if (text.empty()) text = explain_missing(c.gradient);
  if (text.empty()) {
    text = explain_missing_term(report.shape, difference, c.x, c.y, c.dy, limit);
  }
  if (text.empty()) text = explain_power(c);
  return text;
}

}  // namespace qkv
