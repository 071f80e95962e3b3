#include "apps/lesson/history.h"

#include <gtest/gtest.h>

#include <cmath>

#include "apps/lesson/examples.h"

namespace qkv {
namespace {

Recording three_words() {
  const Lesson lesson = find_lesson("three-words").value();
  return record(lesson.model, lesson.batch, lesson.form());
}

double norm_of(const Recording& recording, const std::string& begin) {
  double sum = 0;
  for (const TapeValue& value : recording.tape.values) {
    if (!value.parameter || !value.name.starts_with(begin)) continue;
    for (const double x : recording.tape[*value.gradient].tensor.to_vector()) sum += x * x;
  }
  return std::sqrt(sum);
}

TEST(HistoryTest, AFrameHasTheWeightsAndHowLargeTheGradientsAre) {
  const Recording recording = three_words();
  const LessonFrame frame = frame_of(recording, 7);
  EXPECT_EQ(frame.step, 7);
  EXPECT_EQ(frame.loss, recording.whole_loss);
  ASSERT_EQ(frame.weights.size(), 1u);
  EXPECT_EQ(frame.weights[0].second.to_vector(),
            recording.weights_of("blocks.0.attention").to_vector());
  std::vector<std::string> parts;
  for (const auto& [part, norm] : frame.gradient_norms) {
    parts.push_back(part);
    EXPECT_DOUBLE_EQ(norm, norm_of(recording, part + "."));
  }
  EXPECT_EQ(parts, (std::vector<std::string>{"token_embedding", "position_embedding", "blocks.0",
                                             "final_norm"}));
}

TEST(HistoryTest, FramesAreThinnedEvenly) {
  const Recording recording = three_words();  // whose weights are 18 numbers
  const auto steps = [&](size_t count, int64_t most) {
    return spread_frames(count, recording, most);
  };
  EXPECT_EQ(steps(11, 1000).size(), 11u);
  EXPECT_EQ(steps(11, 60), (std::vector<size_t>{0, 5, 10}));
  EXPECT_EQ(steps(11, 1), (std::vector<size_t>{0, 10}));
  EXPECT_EQ(steps(1, 1), std::vector<size_t>{0});
  EXPECT_TRUE(steps(0, 1000).empty());
}

}  // namespace
}  // namespace qkv
