#include "apps/report/svg/svg_parts.h"
#include "apps/report/texts/texts.h"

namespace qkv {
namespace {

constexpr double kRow = 24, kSpan = 220;  // between words, between the columns of words
constexpr double kThickest = 9;
constexpr double kThinnest = 0.02;  // weights below are not drawn
constexpr double kPictureWidth = 320, kLeastPatch = 40;

double widest_of(const std::vector<Text>& names, const Text& title, Language language) {
  double widest = pixels_of(title.in(language));
  for (const Text& name : names) widest = std::max(widest, pixels_of(name.in(language)));
  return widest;
}

}  // namespace

std::string svg_of(const Arcs& arcs, Language language) {
  const Text queries = say("queries"), keys = say("keys");
  const double from = widest_of(arcs.queries, queries, language) + 14, to = from + kSpan;
  const double width = to + widest_of(arcs.keys, keys, language) + 14;
  const auto rows = static_cast<double>(std::max(arcs.queries.size(), arcs.keys.size()));
  const auto y_of = [](size_t i) { return 30 + kRow * (static_cast<double>(i) + 0.5); };
  std::string svg = svg_begin("arcs", width, 34 + kRow * rows, arcs.title.in(language));
  absl::StrAppend(&svg, text_at(from - 8, 14, "end", queries.in(language), " class=\"name\""),
                  text_at(to + 8, 14, "start", keys.in(language), " class=\"name\""));
  for (size_t i = 0; i < arcs.queries.size(); ++i) {
    const std::string query = arcs.queries[i].in(language);
    for (size_t j = 0; j < arcs.keys.size(); ++j) {
      const double weight = arcs.weights[i * arcs.keys.size() + j];
      if (!(weight >= kThinnest)) continue;
      absl::StrAppendFormat(
          &svg,
          "<path class=\"arc\" style=\"--colour: %s; opacity: %.2f; stroke-width: %.1f\" d=\"M%.1f "
          "%.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"><title>%s → %s: %s</title></path>\n",
          colour_of_series(i), 0.25 + 0.6 * std::min(1.0, weight),
          kThickest * std::min(1.0, weight), from, y_of(i), from + kSpan / 3, y_of(i),
          to - kSpan / 3, y_of(j), to, y_of(j), escaped(query), escaped(arcs.keys[j].in(language)),
          format_number(weight));
    }
    svg += text_at(from - 8, y_of(i) + 4, "end", query);
  }
  for (size_t j = 0; j < arcs.keys.size(); ++j) {
    svg += text_at(to + 8, y_of(j) + 4, "start", arcs.keys[j].in(language));
  }
  return svg + "</svg>\n";
}

std::string svg_of(const Picture& picture, Language language) {
  const auto columns = static_cast<double>(picture.columns);
  const auto side = static_cast<double>(picture.patch);
  const double pixel = std::max(kPictureWidth / columns, kLeastPatch / side);
  const double patch = pixel * side, largest = largest_size_of(picture.weights);
  std::string svg =
      svg_begin("picture", pixel * columns + 4, pixel * static_cast<double>(picture.rows) + 4,
                picture.title.in(language));
  for (int64_t row = 0; row < picture.rows; ++row) {
    for (int64_t column = 0; column < picture.columns; ++column) {
      const double light = picture.pixels[row * picture.columns + column];
      absl::StrAppendFormat(&svg,
                            "<path class=\"pixel\" style=\"--share: %.0f%%\" d=\"M%.1f "
                            "%.1fh%.1fv%.1fh-%.1fz\"/>\n",
                            100 * (std::isfinite(light) ? std::clamp(light, 0.0, 1.0) : 0),
                            2 + pixel * static_cast<double>(column),
                            2 + pixel * static_cast<double>(row), pixel, pixel, pixel);
    }
  }
  const int64_t patches = picture.columns / picture.patch;
  for (size_t i = 0; i < picture.weights.size(); ++i) {
    const double weight = picture.weights[i];
    if (!std::isfinite(weight)) continue;
    const double share = largest > 0 ? std::abs(weight) / largest : 0;
    const double x = 2 + patch * static_cast<double>(static_cast<int64_t>(i) % patches);
    const int64_t row = static_cast<int64_t>(i) / patches;
    const double y = 2 + patch * static_cast<double>(row);
    absl::StrAppendFormat(
        &svg,
        "<path class=\"patch\" style=\"--share: %.0f%%; stroke-width: %.1f\" d=\"M%.1f "
        "%.1fh%.1fv%.1fh-%.1fz\"><title>%s</title></path>\n",
        100 * share, 0.5 + 4.5 * share, x + 3, y + 3, patch - 6, patch - 6, patch - 6,
        format_number(weight));
    svg += text_at(x + patch / 2, y + patch - 9, "middle", number_in_cell(weight, largest),
                   " class=\"on-picture\"");
  }
  return svg + "</svg>\n";
}

}  // namespace qkv
