#include "apps/report/svg/svg_parts.h"

#include "framework/core/text/columns.h"

namespace qkv {
namespace {

constexpr double kPixelsOfColumn = 6.6;  // a Chinese character takes two columns
// The percentage of colour in the deepest cell: numbers in ink keep a contrast of 4.5 to 1.
constexpr double kDeepest = 60;

}  // namespace

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& more) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y,
                         anchor, more, escaped(text));
}

double pixels_of(const std::string& text) {
  return kPixelsOfColumn * static_cast<double>(text_width(text));
}

std::string svg_begin(const std::string& kind, double width, double height,
                      const std::string& title, bool has_own_width) {
  const std::string style = has_own_width ? absl::StrFormat(" style=\"width: %.0fpx\"", width) : "";
  return absl::StrFormat(
      "<svg class=\"%s\" viewBox=\"0 0 %.0f %.0f\"%s role=\"img\" aria-label=\"%s\">\n", kind,
      width, height, style, escaped(title));
}

std::string colour_of_series(size_t series) {
  return absl::StrFormat("var(--series-%d)", series % kColoursOfSeries);
}

double largest_size_of(std::span<const double> numbers) {
  double largest = 0;
  for (const double x : numbers) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

bool has_negative(std::span<const double> numbers) {
  return std::ranges::any_of(numbers, [](double x) { return std::isfinite(x) && x < 0; });
}

std::string colour_of_cell(double number, double largest) {
  if (!std::isfinite(number)) return "class=\"none\"";
  const double share = largest > 0 ? kDeepest * std::abs(number) / largest : 0;
  return absl::StrFormat("class=\"%s\" style=\"--share: %.1f%%\"",
                         number < 0 ? "negative" : "positive", share);
}

std::string number_in_cell(double number, double largest) {
  if (!std::isfinite(number)) return "";
  if (number != 0 && std::abs(number) < 1e-6 * largest) return "≈0";  // a rounding error
  const double size = std::abs(number);
  return size >= 100 && size < 1e5 ? absl::StrFormat("%.0f", number)
                                   : absl::StrFormat("%.2g", number);
}

}  // namespace qkv
