#include "lessons/explain/history.h"

#include <cmath>

namespace qkv {
namespace {

// "encoder.blocks.0" of "encoder.blocks.0.attention.query.weight"; else what stands before the
// first dot.
std::string part_of_parameter(const std::string& name) {
  constexpr std::string_view kBlocks = "blocks.";
  const size_t blocks = name.find(kBlocks);
  return name.substr(0, name.find('.', blocks == std::string::npos ? 0 : blocks + kBlocks.size()));
}

double sum_of_squares(const Tensor& x) {
  double sum = 0;
  for (const double number : x.to_vector()) sum += number * number;
  return sum;
}

int64_t numbers_of(const LessonFrame& frame) {
  int64_t numbers = 0;
  for (const auto& [layer, weights] : frame.weights) numbers += weights.size();
  return numbers;
}

}  // namespace

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
  return frame;
}

std::vector<LessonFrame> spread_frames(std::vector<LessonFrame> frames, int64_t most_numbers) {
  const auto count = std::ssize(frames);
  if (count < 2) return frames;
  const int64_t fit = most_numbers / std::max<int64_t>(1, numbers_of(frames.front()));
  const int64_t kept = std::min(count, std::max<int64_t>(2, fit));
  std::vector<LessonFrame> spread;
  for (int64_t i = 0; i < kept; ++i) {
    spread.push_back(std::move(frames[static_cast<size_t>(i * (count - 1) / (kept - 1))]));
  }
  return spread;
}

}  // namespace qkv
