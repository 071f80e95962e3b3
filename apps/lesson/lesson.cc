#include "apps/lesson/lesson.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/core/error.h"
#include "framework/core/sure.h"
#include "framework/core/text/mistakes.h"
#include "train/config/config.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

std::map<std::string, Tensor> parameters_by_name(const Model& model) {
  std::map<std::string, Tensor> all;
  for (const auto& [name, tensor] : parameters(model)) all[name] = tensor;
  return all;
}

// The names of the parameters of `changed` that no training has made. An error where one has
// another shape than in the lesson's model.
absl::StatusOr<std::vector<std::string>> untrained_parameters(const Lesson& lesson,
                                                              const Model& changed) {
  const std::map<std::string, Tensor> known = parameters_by_name(lesson.model);
  const std::set<std::string> before(lesson.untrained.begin(), lesson.untrained.end());
  std::vector<std::string> untrained;
  for (const auto& [name, tensor] : parameters(changed)) {
    const auto found = known.find(name);
    if (found == known.end() || before.contains(name)) {
      untrained.push_back(name);
    } else if (found->second.shape() != tensor.shape()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the parameter ", name, " has the shape ", found->second.shape().to_string(),
          ", but this setting would give it the shape ", tensor.shape().to_string(),
          "; only settings that keep the shapes of the trained parameters can be explained"));
    }
  }
  return untrained;
}

// Those that both models have. Only one that is `untrained` may have another shape; it stays as
// it is.
void copy_parameters(const Model& from, const std::vector<std::string>& untrained,
                     const Model& to) {
  const std::map<std::string, Tensor> known = parameters_by_name(from);
  for (auto& [name, tensor] : parameters(to)) {
    const auto found = known.find(name);
    if (found == known.end()) continue;
    if (found->second.shape() != tensor.shape()) {
      if (std::ranges::count(untrained, name) > 0) continue;
      fail(absl::StrCat("copy_parameters: ", name, " is ", found->second.describe(),
                        ", and would be copied to ", tensor.describe()));
    }
    const std::vector<double> numbers = found->second.to_vector();
    Array array = tensor.array();
    std::ranges::copy(numbers, array.mutable_data<double>());
  }
}

absl::Status check_range(const std::string& option, int64_t value, int64_t count,
                         const std::string& what) {
  if (value >= 0 && value < count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", option, ": there are ", what, " 0 to ", count - 1));
}

// The mean entropy of the rows of one head, [Tq, Tk], as a share of the largest that it could be
// over the keys that a query sees.
double flatness(const double* weights, int64_t rows, int64_t columns) {
  double entropy = 0.0, most = 0.0;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t seen = 0;
    for (int64_t j = 0; j < columns; ++j) {
      const double p = weights[i * columns + j];
      if (p <= 0.0) continue;
      entropy -= p * std::log(p);
      ++seen;
    }
    if (seen > 1) most += std::log(static_cast<double>(seen));
  }
  return most > 0.0 ? entropy / most : 1.0;
}

// Where attention is sharpest, among these layers: what a trained model has learned to look for.
std::pair<int64_t, int64_t> sharpest_head(const Recording& recording,
                                          const std::vector<std::string>& layers) {
  std::pair<int64_t, int64_t> best = {std::ssize(layers) - 1, 0};
  double least = std::numeric_limits<double>::infinity();
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const Tensor& weights = recording.weights_of(layers[layer]);
    const Shape& shape = weights.shape();  // [B, H, Tq, Tk]
    for (int64_t head = 0; head < shape[1]; ++head) {
      const double* numbers = weights.array().data<double>() + head * shape[2] * shape[3];
      const double found = flatness(numbers, shape[2], shape[3]);
      if (found < least) least = found, best = {static_cast<int64_t>(layer), head};
    }
  }
  return best;
}

}  // namespace

absl::Status begin_at(const Beginning& beginning, const Recording& recording, Lesson& lesson) {
  const std::vector<std::string> layers = recording.attention_layers();
  if (layers.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("explain shows attention, and this model has none: its mixer is \"",
                     lesson.config.model.mixer, "\""));
  }
  const bool is_free = !beginning.layer && !beginning.head && lesson.step > 0;
  const auto [sharpest_layer, sharpest] =
      is_free ? sharpest_head(recording, layers) : std::pair(std::ssize(layers) - 1, int64_t{0});
  const int64_t layer = beginning.layer.value_or(sharpest_layer);
  absl::Status status = check_range("layer", layer, std::ssize(layers), "attention layers");
  if (!status.ok()) return status;
  lesson.layer = layers[static_cast<size_t>(layer)];
  lesson.head = beginning.head.value_or(sharpest);
  lesson.position = beginning.position.value_or(0);
  lesson.begins_at_place = beginning.layer || beginning.head || beginning.position;
  const Shape& weights = recording.weights_of(lesson.layer).shape();  // [B, H, Tq, Tk]
  status = check_range("head", lesson.head, weights[1], "heads");
  if (!status.ok()) return status;
  return check_range("position", lesson.position, weights[2], "positions");
}

std::vector<std::string> warnings_of(const Lesson& lesson, const Recording& recording) {
  std::vector<std::string> warnings;
  if (!lesson.untrained.empty()) {
    warnings.push_back(absl::StrCat("these parameters are untrained, so their numbers are random: ",
                                    listed(lesson.untrained)));
  }
  if (!std::isfinite(recording.whole_loss)) {
    warnings.push_back(
        absl::StrCat("the loss is ", recording.whole_loss,
                     ", not a finite number: some numbers of this model are too large"));
  }
  return warnings;
}

absl::StatusOr<Config> config_with(const Lesson& lesson, const std::vector<std::string>& settings) {
  if (settings.empty()) return lesson.config;
  for (const std::string& setting : settings) {
    if (setting.starts_with("model.") || setting.starts_with("attention.")) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--set ", setting, ": explain can change only keys of [model] and [attention]"));
  }
  absl::StatusOr<Config> config =
      parse_saved_config(to_toml(lesson.config), lesson.config.name, settings);
  if (!config.ok()) return config.status();
  if (config->model.kind != lesson.config.model.kind) {
    return absl::InvalidArgumentError(
        "--set model.kind: explain cannot change it, because another kind reads other examples");
  }
  const Model planned(config->model, lesson.model.data(), Initializer::shapes_only(DType::f64));
  const absl::Status fits = untrained_parameters(lesson, planned).status();
  if (fits.ok()) return config;
  return absl::InvalidArgumentError(
      absl::StrCat("--set ", absl::StrJoin(settings, " --set "), ": ", fits.message()));
}

absl::StatusOr<Lesson> with_settings(const Lesson& lesson,
                                     const std::vector<std::string>& settings) {
  absl::StatusOr<Config> config = config_with(lesson, settings);
  if (!config.ok()) return config.status();
  Model model = make_model(*config, lesson.model.data());
  Lesson changed = lesson;
  changed.untrained = sure(untrained_parameters(lesson, model));
  copy_parameters(lesson.model, changed.untrained, model);
  changed.config = *std::move(config);
  changed.model = std::move(model);
  return changed;
}

std::vector<std::string> single_settings(const Lesson& lesson) {
  const ModelOptions& model = lesson.config.model;
  std::vector<std::string> settings;
  for (const int64_t heads : {1, 2, 4, 8}) {
    if (heads != model.num_heads && model.d_model % heads == 0) {
      settings.push_back(absl::StrCat("model.num_heads=", heads));
    }
  }
  for (const Named<Position>& position : kNames<Position>) {
    if (position.value != model.position) {
      settings.push_back(absl::StrCat("model.position=", position.name));
    }
  }
  for (const Named<Projections>& projections : kNames<Projections>) {
    if (projections.value != model.attention.projections) {
      settings.push_back(absl::StrCat("attention.projections=", projections.name));
    }
  }
  std::erase_if(settings,
                [&](const std::string& setting) { return !config_with(lesson, {setting}).ok(); });
  return settings;
}

namespace {

constexpr int64_t kMostParameters = 100000;  // of a model whose frames have them all

double sum_of_squares(const Tensor& x) {
  double sum = 0;
  for (const double number : x.to_vector()) sum += number * number;
  return sum;
}

}  // namespace

std::string part_of_parameter(const std::string& name) {
  constexpr std::string_view kBlocks = "blocks.";
  const size_t blocks = name.find(kBlocks);
  return name.substr(0, name.find('.', blocks == std::string::npos ? 0 : blocks + kBlocks.size()));
}

LessonFrame frame_of(const Recording& recording, int64_t step) {
  LessonFrame frame = {.step = step, .loss = recording.whole_loss};
  for (const std::string& layer : recording.attention_layers()) {
    frame.weights.emplace_back(layer, recording.weights_of(layer).detached());
  }
  auto& norms = frame.gradient_norms;  // of parts that stand beside each other; squared at first
  for (const TapeValue& value : recording.tape.values) {
    if (!value.parameter || !value.gradient) continue;
    const std::string part = part_of_parameter(value.name);
    if (norms.empty() || norms.back().first != part) norms.emplace_back(part, 0.0);
    norms.back().second += sum_of_squares(recording.tape[*value.gradient].tensor);
  }
  for (auto& [part, norm] : norms) norm = std::sqrt(norm);
  int64_t count = 0;
  for (const TapeValue& value : recording.tape.values) {
    if (!value.parameter) continue;
    frame.parameters.emplace_back(value.name, value.tensor.detached());
    count += value.tensor.size();
  }
  if (count > kMostParameters) frame.parameters.clear();
  return frame;
}

int64_t weights_in(const LessonFrame& frame) {
  int64_t numbers = 1;
  for (const auto& [layer, weights] : frame.weights) numbers += weights.size();
  return numbers;
}

std::vector<size_t> spread(size_t count, int64_t most) {
  const size_t kept = std::min(count, static_cast<size_t>(std::max<int64_t>(2, most)));
  std::vector<size_t> spread;
  for (size_t i = 0; i < kept; ++i) {
    spread.push_back(kept == 1 ? 0 : i * (count - 1) / (kept - 1));
  }
  return spread;
}

}  // namespace qkv
