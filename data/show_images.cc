#include "data/show_images.h"

#include <png.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "framework/core/utf8.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

constexpr int64_t kTerminalWidth = 80;

// One channel of an image.
GreyImage image_of(const Batch& batch, int64_t row, int64_t channel = 0) {
  const Array& pixels = batch.inputs.front();  // [B, channels, height, width]
  const int64_t channels = pixels.shape()[1], height = pixels.shape()[2];
  const int64_t width = pixels.shape()[3];
  const float* begin = pixels.data<float>() + (row * channels + channel) * height * width;
  return {height, width, {begin, static_cast<size_t>(height * width)}};
}

int64_t channels_of(const Batch& batch) { return batch.inputs.front().shape()[1]; }

// The mean of the channels.
std::vector<float> greys_of(const Batch& batch, int64_t row) {
  const int64_t channels = channels_of(batch);
  std::vector<float> greys(image_of(batch, row).pixels.size());
  for (int64_t channel = 0; channel < channels; ++channel) {
    const std::span<const float> pixels = image_of(batch, row, channel).pixels;
    for (size_t i = 0; i < greys.size(); ++i) {
      greys[i] += pixels[i] / static_cast<float>(channels);
    }
  }
  return greys;
}

std::string class_of(const Dataset& dataset, const Batch& batch, int64_t row) {
  return escape(dataset.vocabulary().decode({batch.targets.data<int64_t>() + row, 1}));
}

// As many characters as `width`, cut or filled up with spaces.
std::string fitted(std::string_view text, int64_t width) {
  std::string result;
  for (; width > 0; --width) {
    const size_t length = code_point_length(text);
    result += length == 0 ? " " : text.substr(0, length);
    text.remove_prefix(length);
  }
  return result;
}

// The bytes of a PNG of 8 bits in each channel, of which a pixel has 1 or 3.
absl::StatusOr<std::string> encode_png(const std::string& pixels, int64_t width, int64_t height,
                                       int64_t channels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr) == 0) {
    return absl::InternalError(absl::StrCat("cannot make a PNG: ", image.message));
  }
  bytes.resize(size);
  return bytes;
}

// A grid on which images are drawn.
class ContactSheet {
 public:
  ContactSheet(int64_t count, int64_t image_height, int64_t image_width, int64_t channels)
      : channels_(channels),
        columns_(static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))))),
        scale_(std::max<int64_t>(1, kWanted / std::max(image_height, image_width))),
        cell_height_(image_height * scale_ + kGap),
        cell_width_(image_width * scale_ + kGap),
        width_(columns_ * cell_width_ + kGap),
        height_((count + columns_ - 1) / columns_ * cell_height_ + kGap),
        pixels_(static_cast<size_t>(width_ * height_ * channels), kBackground) {}

  void draw(int64_t i, int64_t channel, const GreyImage& image) {
    const int64_t top = i / columns_ * cell_height_ + kGap;
    const int64_t left = i % columns_ * cell_width_ + kGap;
    for (int64_t y = 0; y < image.height * scale_; ++y) {
      for (int64_t x = 0; x < image.width * scale_; ++x) {
        const float pixel =
            image.pixels[static_cast<size_t>(y / scale_ * image.width + x / scale_)];
        pixels_[static_cast<size_t>(((top + y) * width_ + left + x) * channels_ + channel)] =
            static_cast<char>(std::lround(255 * std::clamp(pixel, 0.0F, 1.0F)));
      }
    }
  }

  absl::StatusOr<std::string> png() const {
    return encode_png(pixels_, width_, height_, channels_);
  }
  int64_t columns() const { return columns_; }

 private:
  static constexpr int64_t kWanted = 96;  // pixels that a side has at least
  static constexpr int64_t kGap = 4;
  static constexpr char kBackground = 0x60;

  int64_t channels_, columns_, scale_, cell_height_, cell_width_, width_, height_;
  std::string pixels_;
};

Batch first_of(const Dataset& dataset, Split split, int64_t count) {
  if (split == Split::kTraining) return dataset.training_batch(0, count);
  return dataset.validation_batch(0, std::min(count, dataset.validation_size()));
}

}  // namespace

std::string describe_images(const Dataset& dataset, Split split, int64_t count, Colours colours) {
  const std::string between = "  ";
  if (count < 1) return "";
  const Batch batch = first_of(dataset, split, count);
  const int64_t width = drawn_width(image_of(batch, 0), kTerminalWidth);
  const int64_t columns = (kTerminalWidth + std::ssize(between)) / (width + std::ssize(between));
  std::string text;
  for (int64_t first = 0; first < batch.rows(); first += columns) {
    std::vector<std::string> lines;
    for (int64_t row = first; row < std::min(batch.rows(), first + columns); ++row) {
      const std::vector<float> greys = greys_of(batch, row);
      const GreyImage& size = image_of(batch, row);
      std::vector<std::string> image =
          draw_image({size.height, size.width, greys}, colours, kTerminalWidth);
      image.push_back(fitted(class_of(dataset, batch, row), width));
      lines.resize(image.size());
      for (size_t i = 0; i < lines.size(); ++i) {
        absl::StrAppend(&lines[i], row > first ? between : "", image[i]);
      }
    }
    if (first > 0) text += "\n";
    for (const std::string& line : lines) {
      absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
    }
  }
  return text;
}

absl::StatusOr<std::string> write_contact_sheet(const Dataset& dataset, Split split, int64_t count,
                                                const std::string& path) {
  const Batch batch = first_of(dataset, split, count);
  const GreyImage image = image_of(batch, 0);
  const int64_t channels = channels_of(batch);
  ContactSheet sheet(batch.rows(), image.height, image.width, channels);
  std::string classes;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      sheet.draw(row, channel, image_of(batch, row, channel));
    }
    const bool ends = (row + 1) % sheet.columns() == 0 || row + 1 == batch.rows();
    absl::StrAppend(&classes, class_of(dataset, batch, row), ends ? "\n" : " ");
  }
  const absl::StatusOr<std::string> png = sheet.png();
  if (!png.ok()) return png.status();
  if (absl::Status status = write_file_atomically(path, *png); !status.ok()) return status;
  return classes;
}

}  // namespace qkv
