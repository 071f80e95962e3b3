#include "apps/report/svg/svg_parts.h"

namespace qkv {
namespace {

constexpr double kBar = 22, kBetween = 8;
constexpr double kWidestName = 240;

double length_of(const std::vector<double>& shares) {
  double length = 0;
  for (const double share : shares) length += std::isfinite(share) ? std::abs(share) : 0;
  return length;
}

std::string part_of_bar(double x, double y, double width, size_t part, const std::string& what,
                        double share) {
  std::string svg = absl::StrFormat(
      "<path class=\"part\" style=\"--colour: %s\" d=\"M%.1f %.1fh%.1fv%.1fh-%.1fz\"><title>%s: "
      "%s</title></path>\n",
      colour_of_series(part), x, y, width, kBar, width, escaped(what), format_number(share));
  const std::string number = number_in_cell(share, share);
  if (pixels_of(number) + 4 > width) return svg;
  return svg + text_at(x + width / 2, y + kBar / 2 + 4, "middle", number, " class=\"on-part\"");
}

}  // namespace

std::string svg_of(const Bars& bars, Language language) {
  double names = 0, longest = 0;
  for (size_t i = 0; i < bars.bars.size(); ++i) {
    names = std::max(names, pixels_of(bars.bars[i].in(language)));
    longest = std::max(longest, length_of(bars.shares[i]));
  }
  // A name that is longer stands above its bar.
  const bool has_names_above = names > kWidestName;
  const double left = has_names_above ? 4 : names + 8, right = 40;
  const double scale = longest > 0 ? (kDrawingWidth - left - right) / longest : 0;
  const double row = kBar + kBetween + (has_names_above ? kLineOfText : 0);
  const double height = row * static_cast<double>(bars.bars.size()) + 24;
  std::string svg = svg_begin("bars", kDrawingWidth, height, bars.title.in(language),
                              /*has_own_width=*/false);
  double y = 4;
  for (size_t i = 0; i < bars.bars.size(); ++i) {
    const std::string name = bars.bars[i].in(language);
    if (has_names_above) svg += text_at(left, y + 11, "start", name);
    const double top = y + row - kBar - kBetween;
    if (!has_names_above) svg += text_at(left - 6, top + kBar / 2 + 4, "end", name);
    double x = left;
    for (size_t part = 0; part < bars.shares[i].size(); ++part) {
      const double share = bars.shares[i][part];
      if (!std::isfinite(share) || share == 0) continue;
      svg +=
          part_of_bar(x, top, scale * std::abs(share), part, bars.parts[part].in(language), share);
      x += scale * std::abs(share);
    }
    y += row;
  }
  absl::StrAppendFormat(&svg, "<path class=\"axis\" d=\"M%.1f 2V%.1fH%.1f\"/>\n", left, height - 20,
                        left + scale * longest);
  svg += text_at(left, height - 6, "middle", "0");
  if (longest > 0) {
    svg += text_at(left + scale * longest, height - 6, "middle", format_number(longest));
  }
  return svg + "</svg>\n";
}

}  // namespace qkv
