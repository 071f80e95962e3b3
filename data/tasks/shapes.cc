#include <array>
#include <cmath>

#include "data/images/image_dataset.h"
#include "data/split.h"
#include "data/tasks/task_kit.h"
#include "framework/core/status.h"

namespace qkv {
namespace {

constexpr int64_t kMinSize = 12, kMaxSize = 256;  // of an image, in pixels

// A kind of shape: whether a point belongs to it. Both u, to the right, and v, downwards, are
// -1 … 1 in the square that it fills.
struct ShapeKind {
  const char* name;
  bool (*holds)(double u, double v);
};

constexpr std::array kShapes = {
    ShapeKind{"circle", [](double u, double v) { return u * u + v * v <= 1; }},
    ShapeKind{"square", [](double, double) { return true; }},
    ShapeKind{"triangle", [](double u, double v) { return 2 * std::abs(u) <= v + 1; }},
    ShapeKind{"cross",
              [](double u, double v) { return std::min(std::abs(u), std::abs(v)) <= 0.3; }}};

// A figure and its place, in quarters of a pixel.
struct Figure {
  int64_t shape, radius, x, y;
};

// Half to three quarters of the image high and wide, anywhere in it.
Figure draw_figure(int64_t image_size, Choices& choices) {
  const int64_t shape = choices.below(std::ssize(kShapes));
  const int64_t radius = choices.between(image_size, 3 * image_size / 2);
  const int64_t last = 4 * image_size - radius;
  return {shape, radius, choices.between(radius, last), choices.between(radius, last)};
}

// The share of a pixel that the figure covers, by 4 x 4 points in it.
double coverage(const Figure& figure, int64_t pixel_x, int64_t pixel_y) {
  constexpr int64_t kPoints = 4;
  const int64_t far_x = std::max(kPoints * pixel_x - figure.x, figure.x - kPoints * (pixel_x + 1));
  const int64_t far_y = std::max(kPoints * pixel_y - figure.y, figure.y - kPoints * (pixel_y + 1));
  if (std::max(far_x, far_y) >= figure.radius) return 0;
  int64_t covered = 0;
  for (int64_t i = 0; i < kPoints * kPoints; ++i) {
    const auto from = [&](int64_t centre, int64_t point) {
      return (static_cast<double>(point - centre) + 0.5) / static_cast<double>(figure.radius);
    };
    const double u = from(figure.x, kPoints * pixel_x + i % kPoints);
    const double v = from(figure.y, kPoints * pixel_y + i / kPoints);
    const bool in_square = std::max(std::abs(u), std::abs(v)) <= 1;
    covered += in_square && kShapes[figure.shape].holds(u, v);
  }
  return static_cast<double>(covered) / (kPoints * kPoints);
}

class ShapesDataset final : public ImageDataset {
 public:
  ShapesDataset(const DataOptions& options, Vocabulary classes, uint64_t seed)
      : ImageDataset(std::move(classes), {1, options.image_size, options.image_size}, seed),
        options_(options),
        stream_(seed) {}

  int64_t validation_size() const override { return options_.validation_examples; }

 protected:
  int64_t training_image(uint64_t number, RandomStream& /*change*/,
                         std::span<float> pixels) const override {
    return draw_shapes(Split::kTraining, stream_.derive("training shapes").derive(number), pixels);
  }

  int64_t validation_image(int64_t index, std::span<float> pixels) const override {
    const auto number = static_cast<uint64_t>(index);
    return draw_shapes(Split::kValidation, stream_.derive("validation shapes").derive(number),
                       pixels);
  }

 private:
  // A share `train_fraction` of all figures is for training, so neither side is empty and a few
  // draws find a figure.
  Figure draw_on(Split split, const RandomStream& stream) const {
    RandomChoices choices(stream);
    while (true) {
      const Figure figure = draw_figure(options_.image_size, choices);
      const std::string text = absl::StrCat(kShapes[figure.shape].name, " ", figure.radius, " ",
                                            figure.x, " ", figure.y);
      if (side_of(text, options_.train_fraction) == split) return figure;
    }
  }

  int64_t draw_shapes(Split split, const RandomStream& stream, std::span<float> pixels) const {
    constexpr double kNoise = 0.1;  // at most
    const Figure figure = draw_on(split, stream.derive("figure"));
    RandomStream light = stream.derive("light");
    const double dark = 0.3 * light.uniform();
    const double bright = 0.7 + 0.3 * light.uniform();
    for (size_t i = 0; i < pixels.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      const double share = coverage(figure, place % size().width, place / size().width);
      const double noise = kNoise * (2 * light.uniform() - 1);
      pixels[i] = static_cast<float>(std::clamp(dark + (bright - dark) * share + noise, 0.0, 1.0));
    }
    return figure.shape;
  }

  DataOptions options_;
  RandomStream stream_;
};

absl::StatusOr<std::unique_ptr<Dataset>> make_shapes(const DataOptions& options, uint64_t seed,
                                                     DataForm /*form*/, const Wait& /*wait*/) {
  std::vector<std::string> names;
  for (const ShapeKind& shape : kShapes) names.emplace_back(shape.name);
  ASSIGN_OR_RETURN(Vocabulary classes, Vocabulary::create(std::move(names)));
  return std::make_unique<ShapesDataset>(options, std::move(classes), seed);
}

void check_shapes(const DataOptions& options, OptionChecker& check) {
  check.range("image_size", options.image_size, kMinSize, kMaxSize);
  check.range("train_fraction", options.train_fraction, 0.01, 0.99);
  check.range("validation_examples", options.validation_examples, 1, kMaxValidationExamples);
}

}  // namespace

// Grey images of a circle, a square, a triangle or a cross, bright on dark with noise, which is
// drawn anew each time. Validation shows shapes of sizes and at places that training never does.
TaskKind shapes_task() {
  return {.name = "shapes",
          .keys = {"image_size", "train_fraction", "validation_examples"},
          .check = check_shapes,
          .make = make_shapes,
          .forms = {DataForm::kClass}};
}

}  // namespace qkv
