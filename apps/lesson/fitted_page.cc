#include "apps/lesson/fitted_page.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/lesson/document.h"
#include "apps/lesson/page.h"

namespace qkv {
namespace {

constexpr int64_t kMaxVariantBytes = 300000;
constexpr int64_t kMinComputedBytes = 100000;  // of computed numbers, to compare
constexpr int64_t kMaxComputedBytes = 400000;
constexpr int64_t kMinFramesWithParameters = 4;  // fewer frames than these show no history
constexpr int64_t kBase64Bytes = 16;             // of 3 numbers in f32, in base64

// As many of the frames as take at most `most_bytes`; none, if not two of them.
std::vector<LessonFrame> thinned(const std::vector<LessonFrame>& frames, const Recording& recording,
                                 int64_t most_bytes) {
  const int64_t most_numbers = most_bytes * 3 / kBase64Bytes;
  std::vector<LessonFrame> kept;
  for (const size_t i : spread_frames(frames.size(), recording, most_numbers)) {
    kept.push_back(frames[i]);
  }
  int64_t numbers = 0;
  for (const LessonFrame& frame : kept) {
    for (const auto& [layer, weights] : frame.weights) numbers += weights.size();
  }
  if (numbers > most_numbers) kept.clear();
  return kept;
}

// So many of them as have room for their parameters, too; or all, without.
std::vector<LessonFrame> with_parameters(std::vector<LessonFrame> frames, int64_t most_bytes) {
  if (frames.empty() || frames.front().parameters.empty()) return frames;
  int64_t numbers = 0;
  for (const auto& [name, x] : frames.front().parameters) numbers += x.size();
  for (const auto& [layer, weights] : frames.front().weights) numbers += weights.size();
  const int64_t fit = most_bytes * 3 / kBase64Bytes / numbers;
  const auto count = std::ssize(frames);
  if (fit < kMinFramesWithParameters && fit < count) {
    for (LessonFrame& frame : frames) frame.parameters.clear();
    return frames;
  }
  std::vector<LessonFrame> kept;
  const int64_t most = std::min<int64_t>(fit, count);
  for (int64_t i = 0; i < most; ++i) {
    const int64_t at = most == 1 ? 0 : i * (count - 1) / (most - 1);
    kept.push_back(frames[static_cast<size_t>(at)]);
  }
  return kept;
}

}  // namespace

std::string fitted_page(Recording recording, const Lesson& whole_lesson, int64_t most_bytes,
                        const TellNote& tell) {
  Lesson lesson = whole_lesson;
  lesson.history.clear();
  std::string variants;
  const auto page_with = [&](const Recording& shown, int64_t bytes_of_document) {
    return lesson_page(lesson_document(shown, lesson, bytes_of_document), variants,
                       lesson.config.name, lesson.language);
  };
  // The room left beside the parameters and inputs.
  const auto room_beside = [&](const Recording& shown) {
    return most_bytes - std::ssize(page_with(shown, 1)) - kMinComputedBytes;
  };
  recording = part_that_fits(std::move(recording), lesson.layer,
                             [&](const Recording& shown) { return room_beside(shown) >= 0; });
  const int64_t room = std::max<int64_t>(0, room_beside(recording));
  const int64_t share = whole_lesson.history.empty() ? room : room / 2;
  if (lesson.has_forms) {
    variants = variants_document(lesson, recording.part, std::min(share, kMaxVariantBytes));
  }
  lesson.history = thinned(whole_lesson.history, recording, share);
  if (recording.part.empty()) {
    lesson.history = with_parameters(std::move(lesson.history), share);
  } else {
    for (LessonFrame& frame : lesson.history) frame.parameters.clear();
  }
  if (tell && lesson.history.size() < whole_lesson.steps_of_history) {
    tell(absl::StrCat("the page has room for ", lesson.history.size(), " of ",
                      whole_lesson.steps_of_history,
                      " steps of training; with a larger --max-size it has more"));
  }

  std::string page = page_with(recording, 1);
  const int64_t beside = std::ssize(page);
  const int64_t limit =
      beside + std::clamp(most_bytes - beside, kMinComputedBytes, kMaxComputedBytes);
  // Packed base64 takes as many bytes as before, or hardly more: trying again uses the room left
  // over in the end.
  int64_t bytes_of_document = std::ssize(lesson_document(recording, lesson, 1));
  for (int i = 0; i < 3; ++i) {
    bytes_of_document += (limit - std::ssize(page)) * 99 / 100;
    std::string larger = page_with(recording, bytes_of_document);
    if (std::ssize(larger) >= limit) break;
    page = std::move(larger);
  }
  return page;
}

}  // namespace qkv
