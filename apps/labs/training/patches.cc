// Attention over an image: what a Vision Transformer looks at, and what it leaves out.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"

namespace qkv {
namespace {

constexpr int64_t kSize = 16, kPatch = 4, kAcross = kSize / kPatch, kPatches = kAcross * kAcross;

// Images, and what a model makes of them.
struct Look {
  Samples ink;      // of each patch, the share of its pixels that are bright   [B, P]
  Samples weights;  // of the class token, for each patch; their sum is 1   [B, P]
  double loss = 0;
};

// Calls `what` with the number of each pixel of the images, and of the patch that it is in.
template <class What>
void for_each_pixel(int64_t images, const What& what) {
  for (int64_t b = 0; b < images; ++b) {
    for (int64_t y = 0; y < kSize; ++y) {
      for (int64_t x = 0; x < kSize; ++x) {
        what(static_cast<size_t>((b * kSize + y) * kSize + x),
             static_cast<size_t>(b * kPatches + y / kPatch * kAcross + x / kPatch));
      }
    }
  }
}

Look look_at(const Model& model, const Batch& batch) {
  const int64_t images = batch.rows();
  const Tensor pixels(batch.inputs[0]);  // [B, 1, size, size]
  const auto [logits, trace] = trace_module(model, std::vector{pixels});
  const Tensor loss = cross_entropy(logits, Tensor(batch.targets));
  Look look = {.ink = std::vector<double>(static_cast<size_t>(images * kPatches)),
               .weights = std::vector<double>(static_cast<size_t>(images * kPatches)),
               .loss = loss.item()};
  constexpr double kBright = 0.5;  // figures are 0.6 and more, backgrounds 0.4 and less
  const Samples values = pixels.to_vector();
  for_each_pixel(images, [&](size_t pixel, size_t patch) {
    look.ink[patch] += values[pixel] > kBright ? 1.0 / (kPatch * kPatch) : 0;
  });
  for (const Tensor& weights : attention_weights_in(trace)) {
    // [B, H, 1 + P, 1 + P] -> of the class token, the mean over the heads [B, P]
    const Tensor row = mean(slice(slice(weights, 2, 0, 1), 3, 1, kPatches), 1);
    const Samples numbers = row.to_vector();
    for (size_t i = 0; i < numbers.size(); ++i) look.weights[i] += numbers[i];
  }
  for (int64_t b = 0; b < images; ++b) {
    const auto begin = look.weights.begin() + b * kPatches;
    const double total = std::accumulate(begin, begin + kPatches, 0.0);
    std::for_each(begin, begin + kPatches, [&](double& weight) { weight /= total; });
  }
  return look;
}

bool has_figure(double ink) { return ink > 0; }

// The weight of the patches with some of the figure, beside their share of all patches.
double weight_of_figure(const Look& look) {
  double weight = 0, share = 0;
  for (size_t i = 0; i < look.ink.size(); ++i) {
    if (!has_figure(look.ink[i])) continue;
    weight += look.weights[i];
    share += 1.0 / kPatches;
  }
  return weight / share;
}

// The loss where of each image some patches are empty: those of the largest weight, or the least.
double loss_without(const Model& model, Batch batch, const Look& look, bool largest) {
  constexpr int64_t kErased = 4;
  std::vector<bool> erased(look.weights.size());
  for (int64_t b = 0; b < batch.rows(); ++b) {
    std::vector<size_t> order(kPatches);
    std::iota(order.begin(), order.end(), static_cast<size_t>(b * kPatches));
    std::ranges::stable_sort(order, [&](size_t i, size_t j) {
      return largest ? look.weights[i] > look.weights[j] : look.weights[i] < look.weights[j];
    });
    for (int64_t i = 0; i < kErased; ++i) erased[order[static_cast<size_t>(i)]] = true;
  }
  Samples pixels = batch.inputs[0].to_vector();
  for_each_pixel(batch.rows(), [&](size_t pixel, size_t patch) {
    if (erased[patch]) pixels[pixel] = 0;
  });
  batch.inputs[0] = Array::of(batch.inputs[0].shape(), DType::f32, pixels);
  return look_at(model, batch).loss;
}

// Image `b` and what the class token looks at in it.
Picture picture_of(const Text& title, const Batch& batch, const Look& look, int64_t b) {
  const auto part = [b](const Samples& all, int64_t size) {
    return Samples(all.begin() + b * size, all.begin() + (b + 1) * size);
  };
  return {.title = title,
          .rows = kSize,
          .columns = kSize,
          .patch = kPatch,
          .pixels = part(batch.inputs[0].to_vector(), kSize * kSize),
          .weights = part(look.weights, kPatches)};
}

struct Measured {
  Samples right, weight_before, weight, without_most, without_least;
  Losses losses;
  std::vector<Figure> pictures;
};

Measured measure(const LabContext& lab) {
  constexpr int64_t kImages = 100;
  Measured m;
  // A circle, a square, a triangle or a cross: which?
  std::vector<std::string> settings;
  if (lab.is_control()) settings.emplace_back("attention.scale=1e-9");
  const std::vector<Trained> models = train_over_seeds(lab, settings);
  m.right = right_sequences_of(models);
  m.losses = training_losses_of(models);
  for (const Trained& trained : models) {
    const Batch batch = trained.data->validation_batch(0, kImages);
    const Look before = look_at(untrained(trained), batch);
    const Look after = look_at(trained.model, batch);
    m.weight_before.push_back(weight_of_figure(before));
    m.weight.push_back(weight_of_figure(after));
    m.without_most.push_back(loss_without(trained.model, batch, after, true));
    m.without_least.push_back(loss_without(trained.model, batch, after, false));
    if (!m.pictures.empty()) continue;
    m.pictures = {picture_of(say("Where the class token looks after training"), batch, after, 0),
                  picture_of(say("The same image before training"), batch, before, 0),
                  picture_of(say("Another image after training"), batch, after, 1)};
  }
  return m;
}

Section importance_section(const Measured& m) {
  // Guessing among four kinds is right in a quarter: the premise is twice that.
  Section section =
      make_section("patches.importance",
                   {premise(at_least(say("images that are right, of four kinds"), 0.5, m.right)),
                    larger(say("weight of the patches with the figure, after and before"), m.weight,
                           m.weight_before),
                    larger(say("loss without the 4 patches of most weight, and of least"),
                           m.without_most, m.without_least)},
                   m.pictures);
  add_settled(section, {m.losses});
  return section;
}

std::vector<Section> run(const LabContext& lab) { return {importance_section(measure(lab))}; }

}  // namespace

Lab patches_lab() { return make_lab("patches", run); }

}  // namespace qkv
