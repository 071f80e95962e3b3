#include "apps/lesson/history.h"

#include <algorithm>
#include <cmath>

namespace qkv {
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

std::vector<size_t> spread_frames(size_t count, const Recording& recording, int64_t most_numbers) {
  int64_t numbers = 1;
  for (const std::string& layer : recording.attention_layers()) {
    numbers += recording.weights_of(layer).size();
  }
  const auto fit = static_cast<size_t>(std::max<int64_t>(2, most_numbers / numbers));
  const size_t kept = std::min(count, fit);
  std::vector<size_t> spread;
  for (size_t i = 0; i < kept; ++i) {
    spread.push_back(kept == 1 ? 0 : i * (count - 1) / (kept - 1));
  }
  return spread;
}

}  // namespace qkv
