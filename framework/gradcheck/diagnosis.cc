#include "framework/gradcheck/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/position.h"
#include "framework/gradcheck/missing_term.h"

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

// c with a = c n at every element, to within what is known of n, if there is one.
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

std::string axes_of_size(const InputReport& report, int64_t size) {
  const auto has = [size](const Shape& shape) {
    return std::ranges::find(shape.dims(), size) != shape.dims().end();
  };
  if (size < 2) return "";
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

std::string explain_factor(const InputReport& report, double c) {
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
  const std::string axes = is_whole(n) ? axes_of_size(report, std::llround(n)) : "";
  const bool may_be_one_of_two = std::abs(c - 0.5) < kClose;
  if (!axes.empty()) {
    return absl::StrCat(
        text, axes, ": a sum taken for a mean, or ",
        may_be_one_of_two ? "an input that is used twice counted once?" : "the reverse?");
  }
  if (is_whole(square)) {
    absl::StrAppend(&text, axes_of_size(report, std::llround(square)));
    if (!is_whole(n) || std::abs(n - 2.0) > kClose) {
      return absl::StrCat(text, ": a scale left out or applied twice?");
    }
  }
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

// What all elements that are `chosen` have in common: "index 2 of axis 0".
std::string common_index(const Shape& shape, const std::function<bool(int64_t)>& chosen) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 2) continue;
    std::vector<int64_t> indices(static_cast<size_t>(shape[axis]));
    for (int64_t i = 0; i < shape.size(); ++i) {
      if (chosen(i)) ++indices[static_cast<size_t>(index_of(shape, i)[axis])];
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
  const auto right = [&](int64_t k) { return gradient.right[static_cast<size_t>(k)] != 0; };
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

// Wrong for outputs that are too small to be seen among all.
std::string explain_outputs(const InputReport& report, const NumericGradient& gradient) {
  if (gradient.wrong.empty()) return "";
  const auto wrong = [&](int64_t k) { return gradient.wrong[static_cast<size_t>(k)] != 0; };
  const std::string index = common_index(report.output_shape, wrong);
  return index.empty() ? "" : absl::StrCat("only outputs at ", index, " have wrong derivatives");
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
    if (whole == 1) return sign + "1";
    const std::string root = absl::StrCat(sign, over, "sqrt(", whole * whole, ")");
    return absl::StrCat(sign, over, whole, whole <= 32 ? " = " + root : "");
  }
  if (is_whole(n * n)) return absl::StrCat(sign, over, "sqrt(", std::llround(n * n), ")");
  return "";
}

std::string diagnose(const DiagnosisCase& c) {
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
    if (!c.is_linear) {
      return "right for a random cotangent and wrong for single outputs: backward is not linear in "
             "its cotangent";
    }
    return explain_outputs(report, c.gradient);
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
  if (factor) return explain_factor(report, *factor);
  if (!whole) return "";
  text = explain_transposed(report.shape, analytic, numeric, limit);
  if (text.empty()) text = explain_unsummed(report.shape, analytic, numeric, limit);
  if (text.empty()) text = explain_place(report, c.gradient);
  if (text.empty()) text = explain_missing(c.gradient);
  if (text.empty()) {
    text = explain_missing_term(report.shape, difference, c.x, c.y, c.dy, limit);
  }
  return text;
}

}  // namespace qkv
