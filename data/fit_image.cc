#include "data/fit_image.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

namespace qkv {
namespace {

// One channel of an image.
struct Plane {
  int64_t height, width;
  std::string bytes;  // [height, width]
};

// What one pixel of a row or column is made of: `weights` for the old pixels from `first` on.
struct Taps {
  int64_t first = 0;
  std::vector<double> weights;
};

// Where the new pixels stand along one side: `scaled` of them are the image, of which those from
// `skipped` on are kept, behind `before` empty ones.
struct Side {
  int64_t scaled = 0, skipped = 0, before = 0, kept = 0;
};

int64_t rounded_ratio(int64_t a, int64_t b) { return (2 * a + b) / (2 * b); }

Side side_of_image(int64_t scaled, int64_t wanted) {
  if (scaled >= wanted) return {scaled, (scaled - wanted) / 2, 0, wanted};
  return {scaled, 0, (wanted - scaled) / 2, scaled};
}

// How high and wide the whole image becomes.
std::pair<int64_t, int64_t> scaled_size(int64_t height, int64_t width, const ImageLayout& to) {
  if (to.fit == Fit::kStretch) return {to.height, to.width};
  const bool is_wide = width * to.height >= height * to.width;  // wider than what is wanted
  if (is_wide == (to.fit == Fit::kCrop)) {
    return {to.height, std::max<int64_t>(1, rounded_ratio(width * to.height, height))};
  }
  return {std::max<int64_t>(1, rounded_ratio(height * to.width, width)), to.width};
}

// The taps of the new pixels that are kept, of a side of `size` old ones.
std::vector<Taps> taps_of(int64_t size, const Side& side) {
  const double scale = static_cast<double>(size) / static_cast<double>(side.scaled);
  const double reach = std::max(scale, 1.0);
  std::vector<Taps> all;
  for (int64_t i = side.skipped; i < side.skipped + side.kept; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, std::llround(std::floor(centre - reach + 0.5)));
    const auto end = std::min<int64_t>(size, std::llround(std::floor(centre + reach + 0.5)));
    Taps taps{.first = first, .weights = {}};
    double sum = 0;
    for (int64_t old = first; old < end; ++old) {
      const double distance = std::abs(static_cast<double>(old) + 0.5 - centre) / reach;
      taps.weights.push_back(std::max(0.0, 1.0 - distance));
      sum += taps.weights.back();
    }
    for (double& weight : taps.weights) weight /= sum;
    all.push_back(std::move(taps));
  }
  return all;
}

// Row after row gets its new pixels, and then the columns.
void resize(const Plane& plane, const std::vector<Taps>& rows, const std::vector<Taps>& columns,
            const std::function<void(size_t row, size_t column, double value)>& set) {
  const int64_t first = rows.front().first;
  const int64_t end = rows.back().first + std::ssize(rows.back().weights);
  std::vector<double> narrow;  // [end - first, columns]
  narrow.reserve(static_cast<size_t>(end - first) * columns.size());
  for (int64_t y = first; y < end; ++y) {
    const char* row = plane.bytes.data() + y * plane.width;
    for (const Taps& taps : columns) {
      double sum = 0;
      for (size_t i = 0; i < taps.weights.size(); ++i) {
        sum +=
            taps.weights[i] * static_cast<unsigned char>(row[static_cast<size_t>(taps.first) + i]);
      }
      narrow.push_back(sum);
    }
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto begin = static_cast<size_t>(rows[row].first - first);
    for (size_t column = 0; column < columns.size(); ++column) {
      double sum = 0;
      for (size_t i = 0; i < rows[row].weights.size(); ++i) {
        sum += rows[row].weights[i] * narrow[(begin + i) * columns.size() + column];
      }
      set(row, column, sum);
    }
  }
}

// Red, green or blue; or grey, with factors of 16 bits.
Plane plane_of(const ColourImage& image, int64_t channel, bool is_grey) {
  Plane plane{image.height, image.width, std::string(image.bytes.size() / 3, '\0')};
  const auto* pixel = reinterpret_cast<const unsigned char*>(image.bytes.data());
  for (char& byte : plane.bytes) {
    const unsigned grey = (19595U * pixel[0] + 38470U * pixel[1] + 7471U * pixel[2] + 32768U) >> 16;
    byte = static_cast<char>(is_grey ? grey : pixel[channel]);
    pixel += 3;
  }
  return plane;
}

}  // namespace

std::string fit_image(const ColourImage& image, const ImageLayout& layout) {
  const auto [scaled_height, scaled_width] = scaled_size(image.height, image.width, layout);
  const Side down = side_of_image(scaled_height, layout.height);
  const Side across = side_of_image(scaled_width, layout.width);
  const std::vector<Taps> rows = taps_of(image.height, down),
                          columns = taps_of(image.width, across);
  std::string bytes(layout.bytes(), '\0');
  for (int64_t channel = 0; channel < layout.channels; ++channel) {
    const int64_t top = channel * layout.height + down.before;
    resize(plane_of(image, channel, layout.channels == 1), rows, columns,
           [&](size_t row, size_t column, double value) {
             const int64_t at = (top + static_cast<int64_t>(row)) * layout.width + across.before +
                                static_cast<int64_t>(column);
             bytes[static_cast<size_t>(at)] =
                 static_cast<char>(std::lround(std::clamp(value, 0.0, 255.0)));
           });
  }
  return bytes;
}

}  // namespace qkv
