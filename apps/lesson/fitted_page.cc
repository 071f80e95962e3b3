#include "apps/lesson/fitted_page.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/lesson/document.h"
#include "apps/lesson/page.h"
#include "framework/core/each_of.h"

namespace qkv {
namespace {

constexpr int64_t kMaxVariantBytes = 300000;
constexpr int64_t kMinComputedBytes = 100000;  // of computed numbers, to compare
constexpr int64_t kMaxComputedBytes = 400000;
constexpr int64_t kMinFramesWithParameters = 4;  // fewer frames than these show no history
constexpr int64_t kBase64Bytes = 16;             // of 3 numbers in f32, in base64

// The frames that take at most `most_bytes`, and their parameters where enough of these fit as
// well; none, if not two of them fit.
std::vector<LessonFrame> fitting(std::vector<LessonFrame> frames, int64_t most_bytes,
                                 bool with_parameters) {
  if (frames.empty()) return {};
  const auto fit_of = [&](int64_t numbers) { return most_bytes * 3 / kBase64Bytes / numbers; };
  int64_t numbers = weights_in(frames[0]);
  for (const auto& [name, x] : frames[0].parameters) numbers += x.size();
  int64_t fit = fit_of(numbers);
  if (!with_parameters || fit < std::min(kMinFramesWithParameters, std::ssize(frames))) {
    for (LessonFrame& frame : frames) frame.parameters.clear();
    fit = fit_of(weights_in(frames[0]));
  }
  if (fit < 2) return {};
  return each_of(spread(frames.size(), fit), [&](size_t i) { return frames[i]; });
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
  lesson.history = fitting(whole_lesson.history, share, recording.part.empty());
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
