#include <vector>

#include "apps/report/axis.h"
#include "apps/report/svg/svg_parts.h"

namespace qkv {
namespace {

constexpr double kEdge = 52, kPlotWidth = 560, kPlotHeight = 420, kLeastPlot = 160;
constexpr double kArrowHead = 7;  // of an arrow

struct Box {
  double left, top, right, bottom;

  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

// An arrow of the same direction wherever it is: a unit takes as many pixels on both axes.
class Plane {
 public:
  Plane(const Paths& paths, Language language)
      : paths_(paths), language_(language), x_(axis_of(&Path::x)), y_(axis_of(&Path::y)) {
    scale_ = std::min(kPlotWidth / (x_.high() - x_.low()), kPlotHeight / (y_.high() - y_.low()));
    width_ = std::max(kLeastPlot, scale_ * (x_.high() - x_.low()));
    height_ = std::max(kLeastPlot, scale_ * (y_.high() - y_.low()));
  }

  std::string svg() {
    std::string svg = svg_begin("plane", kDrawingWidth, height_ + 2 * kEdge,
                                paths_.title.in(language_), /*has_own_width=*/false);
    svg += axes();
    for (size_t i = 0; i < paths_.paths.size(); ++i) svg += path(i);
    for (size_t i = 0; i < paths_.paths.size(); ++i) svg += name(i);
    return svg + "</svg>\n";
  }

 private:
  Axis axis_of(std::vector<double> Path::*numbers) const {
    std::vector<double> all;
    for (const Path& path : paths_.paths) {
      all.insert(all.end(), (path.*numbers).begin(), (path.*numbers).end());
    }
    return {all, /*is_logarithmic=*/false};
  }

  double left_of(double x) const { return kEdge + scale_ * (x - x_.low()); }
  double top_of(double y) const { return kEdge + height_ - scale_ * (y - y_.low()); }

  std::string axes() const {
    const double foot = kEdge + height_;
    std::string svg = absl::StrFormat("<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", kEdge,
                                      kEdge, foot, kEdge + width_);
    for (const double tick : x_.ticks()) {
      svg += text_at(left_of(tick), foot + 16, "middle", format_number(tick));
    }
    for (const double tick : y_.ticks()) {
      svg += text_at(kEdge - 6, top_of(tick) + 4, "end", format_number(tick));
    }
    svg += text_at(kEdge + width_ / 2, foot + 38, "middle", paths_.x_label.in(language_));
    return svg + text_at(8, kEdge - 18, "start", paths_.y_label.in(language_));
  }

  std::string path(size_t index) {
    const Path& path = paths_.paths[index];
    std::string svg =
        absl::StrFormat("<g class=\"series\" style=\"--colour: %s\">\n<title>%s</title>\n",
                        colour_of_series(index), escaped(path.name.in(language_)));
    for (size_t i = 0; i < path.x.size(); ++i) {
      if (!x_.shows(path.x[i]) || !y_.shows(path.y[i])) continue;
      const double x = left_of(path.x[i]), y = top_of(path.y[i]);
      if (i == 0) absl::StrAppendFormat(&svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", x, y);
      if (i > 0) svg += arrow(left_of(path.x[i - 1]), top_of(path.y[i - 1]), x, y);
      take_way(i > 0 ? i - 1 : i, i, path);
    }
    return svg + "</g>\n";
  }

  // Names keep away from it.
  void take_way(size_t from, size_t to, const Path& path) {
    constexpr int kParts = 16;
    for (int part = 0; part <= kParts; ++part) {
      const double share = static_cast<double>(part) / kParts;
      const double x = left_of(path.x[from] + share * (path.x[to] - path.x[from]));
      const double y = top_of(path.y[from] + share * (path.y[to] - path.y[from]));
      taken_.push_back({x - 3, y - 3, x + 3, y + 3});
    }
  }

  static std::string arrow(double x0, double y0, double x, double y) {
    const double length = std::hypot(x - x0, y - y0);
    if (!(length > 0)) return "";
    const double u = (x - x0) / length, v = (y - y0) / length, head = std::min(kArrowHead, length);
    const double back_x = x - head * u, back_y = y - head * v, side = 0.45 * head;
    return absl::StrFormat(
        "<path d=\"M%.1f %.1fL%.1f %.1f\"/>\n"
        "<path class=\"head\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fz\"/>\n",
        x0, y0, back_x, back_y, x, y, back_x - side * v, back_y + side * u, back_x + side * v,
        back_y - side * u);
  }

  // At the end of the path, where nothing else is.
  std::string name(size_t index) {
    const Path& path = paths_.paths[index];
    if (path.x.empty() || path.name.empty()) return "";
    const std::string text = path.name.in(language_);
    const double width = pixels_of(text), x = left_of(path.x.back()), y = top_of(path.y.back());
    Box best = {};
    for (int i = 0; i < 24; ++i) {
      const int ring = i / 4;
      const double away = 6 + 12.0 * ring;
      const double left = i % 2 == 0 ? x + away : x - away - width;
      const double middle = i % 4 < 2 ? y - away / 2 : y + away / 2 + 4;
      const Box box = {left, middle - 8, left + width, middle + 6};
      if (i == 0) best = box;
      const bool is_free = std::ranges::none_of(taken_, [&](const Box& b) { return b.meets(box); });
      if (!is_free || box.left < 2 || box.right > kDrawingWidth - 2 || box.top < 2) continue;
      best = box;
      break;
    }
    taken_.push_back(best);
    return text_at(
        best.left, best.bottom - 3, "start", text,
        absl::StrFormat(" class=\"of-path\" style=\"--colour: %s\"", colour_of_series(index)));
  }

  const Paths& paths_;
  Language language_;
  Axis x_, y_;
  double scale_ = 1, width_ = 0, height_ = 0;
  std::vector<Box> taken_ = {};
};

}  // namespace

std::string svg_of(const Paths& paths, Language language) { return Plane(paths, language).svg(); }

}  // namespace qkv
