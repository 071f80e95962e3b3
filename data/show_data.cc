#include "data/show_data.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/core/each_of.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/utf8.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

// Rows of numbers in 0 … 1.
struct GreyImage {
  int64_t height = 0, width = 0;
  std::span<const float> pixels;
};

int64_t shrink_factor(const GreyImage& image, int64_t max_width) {
  return (image.width + max_width - 1) / max_width;
}

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The mean of the pixels that become pixel (y, x); black beyond the image.
double pixel_at(const GreyImage& image, int64_t factor, int64_t y, int64_t x) {
  const int64_t last_y = std::min(image.height, (y + 1) * factor);
  const int64_t last_x = std::min(image.width, (x + 1) * factor);
  double sum = 0;
  int64_t count = 0;
  for (int64_t row = y * factor; row < last_y; ++row) {
    for (int64_t column = x * factor; column < last_x; ++column, ++count) {
      sum += image.pixels[row * image.width + column];
    }
  }
  return count == 0 ? 0 : std::clamp(sum / static_cast<double>(count), 0.0, 1.0);
}

// One of `steps` steps from black to white.
int64_t level(double brightness, int64_t steps) {
  return std::lround(brightness * static_cast<double>(steps - 1));
}

std::string grey(double brightness, Colours colours) {
  if (colours == Colours::k256) {
    constexpr int64_t kBlackest = 232;  // of 24 greys
    return absl::StrCat("5;", kBlackest + level(brightness, 24));
  }
  const int64_t part = level(brightness, 256);
  return absl::StrCat("2;", part, ";", part, ";", part);
}

std::string draw_pair(double upper, double lower, Colours colours) {
  if (colours == Colours::kNone) {
    constexpr std::string_view kRamp = " .:-=+*#%@";
    const int64_t step = level((upper + lower) / 2, std::ssize(kRamp));
    return std::string(1, kRamp[step]);
  }
  return absl::StrCat("\x1b[38;", grey(upper, colours), ";48;", grey(lower, colours), "m▀");
}

// Lines that show the image with a character for two pixels, one above the other: a character is
// about twice as high as wide. An image of more than `max_width` pixels is shown smaller.
std::vector<std::string> draw_image(const GreyImage& image, Colours colours, int64_t max_width) {
  const int64_t factor = shrink_factor(image, max_width);
  const int64_t height = divided_up(image.height, factor), width = divided_up(image.width, factor);
  std::vector<std::string> lines;
  for (int64_t y = 0; y < height; y += 2) {
    std::string line;
    for (int64_t x = 0; x < width; ++x) {
      line += draw_pair(pixel_at(image, factor, y, x), pixel_at(image, factor, y + 1, x), colours);
    }
    if (colours != Colours::kNone) line += "\x1b[0m";
    lines.push_back(std::move(line));
  }
  return lines;
}

int64_t drawn_width(const GreyImage& image, int64_t max_width) {
  return divided_up(image.width, shrink_factor(image, max_width));
}

constexpr int64_t kTerminalWidth = 80;

GreyImage image_of(const Batch& batch, int64_t row, int64_t channel = 0) {
  const Array& pixels = batch.inputs.front();  // [B, channels, height, width]
  const int64_t channels = pixels.shape()[1], height = pixels.shape()[2];
  const int64_t width = pixels.shape()[3];
  const float* begin = pixels.data<float>() + (row * channels + channel) * height * width;
  return {height, width, {begin, static_cast<size_t>(height * width)}};
}

int64_t channels_of(const Batch& batch) { return batch.inputs.front().shape()[1]; }

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

// The bytes of a PNG with 1 or 3 channels of 8 bits.
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
        const float pixel = image.pixels[y / scale_ * image.width + x / scale_];
        pixels_[((top + y) * width_ + left + x) * channels_ + channel] =
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

// The first `count` images of a split side by side, each over the name of its class. At most 80
// characters wide. Images in colour are drawn in grey.
std::string describe_images(const Dataset& dataset, Split split, int64_t count, Colours colours) {
  const std::string between = "  ";
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
      image.push_back(padded(first_columns(class_of(dataset, batch, row), width), width));
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

std::span<const int64_t> row_of(const Array& array, int64_t row) {
  const int64_t length = array.size() / array.shape()[0];
  return {array.data<int64_t>() + row * length, static_cast<size_t>(length)};
}

std::string describe_question(const Dataset& dataset, const Batch& batch, int64_t row) {
  std::span<const int64_t> question = row_of(batch.inputs[0], row);
  if (batch.inputs.back().dtype() == DType::boolean) {
    const bool* padding =
        batch.inputs.back().data<bool>() + row * static_cast<int64_t>(question.size());
    question = question.first(std::find(padding, padding + question.size(), true) - padding);
  }
  std::vector<int64_t> answer;
  for (const int64_t token : row_of(batch.targets, row)) {
    if (token != kIgnoredTarget) answer.push_back(token);
  }
  const Vocabulary& vocabulary = dataset.vocabulary();
  return absl::StrCat(escape(vocabulary.decode(question)),
                      dataset.form() == DataForm::kClass ? "   class: " : "   answer: ",
                      escape(dataset.answer_text(answer)));
}

// Row `row` of a batch without its padding, and the tokens that count.
std::string describe_sequence(const Dataset& dataset, const Batch& batch, int64_t row) {
  const std::span<const int64_t> inputs = row_of(batch.inputs[0], row);
  const std::span<const int64_t> targets = row_of(batch.targets, row);

  std::vector<int64_t> counted;
  size_t end = 0;  // after the last target
  for (size_t t = 0; t < targets.size(); ++t) {
    if (targets[t] == kIgnoredTarget) continue;
    counted.push_back(targets[t]);
    end = t + 1;
  }
  std::vector<int64_t> sequence(inputs.begin(), inputs.begin() + end);
  if (end > 0) sequence.push_back(targets[end - 1]);

  const Vocabulary& vocabulary = dataset.vocabulary();
  const bool all = counted.size() == end;
  return absl::StrCat(escape(vocabulary.decode(sequence)), "   loss on: ",
                      all ? "all after the first" : escape(vocabulary.decode(counted)));
}

std::string context_of(const DataShape& shape) {
  if (shape.source_length == 0) return absl::StrCat(shape.max_length, " tokens");
  return absl::StrCat(shape.source_length, " tokens in the question, ", shape.max_length,
                      " in the answer");
}

// A line of it.
std::string beginning(const std::string& text, bool all) {
  constexpr int64_t kShown = 50;  // columns
  const std::string shown = first_columns(text, kShown);
  return all || shown.size() == text.size() ? text : shown + " …";
}

std::string describe_class_names(const Dataset& dataset, bool all) {
  const std::string names = absl::StrJoin(each_of(dataset.class_names(), escape), ", ");
  return absl::StrCat("classes      ", dataset.class_names().size(), ": ", beginning(names, all),
                      "\n");
}

// For bytes and byte pairs, the learned tokens.
std::string describe_vocabulary(const Vocabulary& vocabulary, bool all) {
  constexpr int64_t kBytes = 256;
  const std::string size = absl::StrCat("vocabulary   ", vocabulary.size());
  std::vector<int64_t> tokens(static_cast<size_t>(vocabulary.size()));
  std::iota(tokens.begin(), tokens.end(), 0);
  if (vocabulary.kind() == TokenKind::kCharacters) {
    return absl::StrCat(size, " tokens: ", beginning(escape(vocabulary.decode(tokens)), all), "\n");
  }
  if (vocabulary.kind() == TokenKind::kBytes) return absl::StrCat(size, " bytes\n");
  const bool has_bytes = vocabulary.kind() == TokenKind::kBpe;
  std::string texts;
  for (int64_t token = has_bytes ? kBytes : 0; token < vocabulary.size(); ++token) {
    absl::StrAppend(&texts, texts.empty() ? "\"" : " \"", escape(vocabulary.texts()[token]), "\"");
  }
  return absl::StrCat(
      size, has_bytes ? " bytes and byte pairs: " : " words: ", beginning(texts, all), "\n");
}

std::string describe_unknown(const Vocabulary& vocabulary) {
  const std::optional<int64_t> unknown = vocabulary.unknown();
  if (!unknown) return "";
  return absl::StrCat("unknown      \"", escape(vocabulary.texts()[*unknown]),
                      "\": what training has too rarely, or not at all\n");
}

std::string describe_tokens(const Dataset& dataset, bool all) {
  return absl::StrCat(describe_vocabulary(dataset.vocabulary(), all),
                      describe_unknown(dataset.vocabulary()),  //
                      "context      ", context_of(dataset.shape()), "\n",
                      dataset.class_names() == dataset.vocabulary().texts()
                          ? ""
                          : describe_class_names(dataset, all));
}

std::string describe_classes(const Dataset& dataset, bool all) {
  const DataShape shape = dataset.shape();
  return absl::StrCat(describe_class_names(dataset, all),  //
                      "images       ", shape.height, " x ", shape.width, " pixels, ",
                      shape.channels == 1 ? "grey\n" : "in colour; below they are drawn in grey\n");
}

}  // namespace

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
  ASSIGN_OR_RETURN(const std::string png, sheet.png());
  RETURN_IF_ERROR(write_file_atomically(path, png));
  return classes;
}

std::string describe_dataset(const Dataset& dataset, bool all) {
  const auto size = [](int64_t examples) {
    if (examples == 0) return std::string("drawn at random");
    return absl::StrCat(examples, examples == 1 ? " example" : " examples");
  };
  return absl::StrCat(
      dataset.shape().is_image() ? describe_classes(dataset, all) : describe_tokens(dataset, all),
      "training     ", size(dataset.training_size()), "\n",  //
      "validation   ", size(dataset.validation_size()), "\n");
}

std::string describe_examples(const Dataset& dataset, Split split, int64_t count, Colours colours) {
  if (count < 1) return "";
  if (dataset.shape().is_image()) return describe_images(dataset, split, count, colours);
  const Batch batch = first_of(dataset, split, count);
  const auto describe =
      dataset.form() == DataForm::kSequence ? describe_sequence : describe_question;
  std::string text;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    absl::StrAppend(&text, describe(dataset, batch, row), "\n");
  }
  return text;
}

}  // namespace qkv
