#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/graph/middleware.h"
#include "framework/ops/ops.h"
#include "tests/temporary_folder.h"
#include "tests/train/config/parsed.h"
#include "train/folder/reading_progress.h"
#include "train/loop/train.h"
#include "train/watch/profile.h"
#include "train/watch/progress.h"
#include "train/watch/run_listener.h"

namespace qkv {
namespace {

// What it is told, a word each.
class Diary final : public RunListener {
 public:
  explicit Diary(std::string run) : run_(std::move(run)) {}

  absl::Status begin(const std::string& folder, int64_t first_step) override {
    EXPECT_EQ(folder, run_);
    told_ = absl::StrCat("begin", first_step);
    return absl::OkStatus();
  }
  void report(const StepReport& step) override {
    absl::StrAppend(&told_, " step", step.metrics.step);
  }
  absl::Status record(const StepReport& step, const Model& model) override {
    EXPECT_GT(parameters(model).size(), 0u);
    absl::StrAppend(&told_, " record", step.metrics.step);
    return step.metrics.step == fails_at ? absl::DataLossError("full") : absl::OkStatus();
  }
  absl::Status flush() override {
    const bool exists = std::filesystem::exists(run_ + "/checkpoints/best.safetensors");
    absl::StrAppend(&told_, exists ? " flush" : " flush-before-best");
    return absl::OkStatus();
  }

  const std::string& told() const { return told_; }
  int64_t fails_at = 0;

 private:
  std::string run_, told_;
};

class RunListenerTest : public testing::Test {
 protected:
  absl::Status train(const std::vector<std::string>& more, bool resume = false) {
    std::vector<std::string> all = {"data.length=3",         "model.d_model=8",
                                    "model.num_heads=1",     "model.d_ff=8",
                                    "train.batch_size=4",    "train.steps=4",
                                    "train.threads=1",       "train.log_interval=1",
                                    "train.eval_interval=2", "train.checkpoint_interval=0"};
    all.insert(all.end(), more.begin(), more.end());
    return run_training({.config = parsed("", all), .origins = {}},
                        {.out = run_, .resume = resume, .listeners = {&diary_}, .output = stderr})
        .status();
  }

  const TemporaryFolder folder_;
  const std::string run_ = folder_ / "run";
  Diary diary_{run_};
};

TEST_F(RunListenerTest, IsToldOfAStepAndOfItsLinesAndOfEachCheckpoint) {
  ASSERT_TRUE(train({"optimizer.learning_rate=0"}).ok());
  EXPECT_EQ(
      diary_.told(),
      "begin1 step1 record1 step2 record2 flush-before-best flush step3 record3 step4 record4 "
      "flush");
  ASSERT_TRUE(train({"optimizer.learning_rate=0", "train.steps=5"}, true).ok());
  EXPECT_EQ(diary_.told(), "begin5 step5 record5 flush");
}

TEST_F(RunListenerTest, AFailureEndsTheRun) {
  diary_.fails_at = 3;
  EXPECT_EQ(train({}).message().substr(0, 4), "full");
}

// Nothing is called all that is not all.
TEST(ProgressTest, APercentageIsRoundedDown) {
  EXPECT_EQ(format_percent(1.0), "100.0 %");
  EXPECT_EQ(format_percent(0.9996), "99.9 %");
  EXPECT_EQ(format_percent(0.29), "29.0 %");
  EXPECT_EQ(format_percent(0.0), "0.0 %");
}

TEST(ProgressTest, ADurationIsRoundedUp) {
  EXPECT_EQ(format_duration(0), "0 s");
  EXPECT_EQ(format_duration(0.0001), "0.1 s");
  EXPECT_EQ(format_duration(0.35), "0.4 s");
  EXPECT_EQ(format_duration(0.95), "1 s");
  EXPECT_EQ(format_duration(8.2), "9 s");
  EXPECT_EQ(format_duration(184.5), "3 min 05 s");
  EXPECT_EQ(format_duration(3599), "59 min 59 s");
  EXPECT_EQ(format_duration(3600), "1 h 00 min");
  EXPECT_EQ(format_duration(7800), "2 h 10 min");
}

// y = x Wᵀ of [2, 3] and [5, 3], and its gradients.
void small_step() {
  const Tensor x = parameter(Array::full({2, 3}, DType::f32, 1.0));
  const Tensor w = parameter(Array::full({5, 3}, DType::f32, 1.0));
  const ObservedSection section("step");
  const Scope scope("model");
  const Tensor loss = in_section("forward", [&] { return sum(linear(x, w, Tensor())); });
  backward(loss);
}

ProfileRow row_of(const Profiler& profiler, const std::string& part, const std::string& name) {
  const std::vector<ProfileRow> rows = profiler.rows();
  const auto found = std::ranges::find_if(
      rows, [&](const ProfileRow& row) { return row.part == part && row.name == name; });
  if (found != rows.end()) return *found;
  ADD_FAILURE() << "no row " << part << " " << name << " in\n" << profile_table(rows, 1);
  return {};
}

TEST(ProfilerTest, CountsCallsBytesAndOperationsForwardAndBackwardApart) {
  Profiler profiler;
  for (int i = 0; i < 3; ++i) small_step();
  const ProfileRow forward = row_of(profiler, "forward", "linear");
  EXPECT_EQ(forward.calls, 3);
  EXPECT_EQ(forward.flops, 3 * 60);                 // 2 * 2 * 3 * 5
  EXPECT_EQ(forward.bytes, 3 * 4 * (6 + 15 + 10));  // x, W, y
  const ProfileRow products = row_of(profiler, "backward", "linear: matmul");
  EXPECT_EQ(products.calls, 6);  // dx and dW
  EXPECT_EQ(products.flops, 3 * 120);
  EXPECT_EQ(row_of(profiler, "backward", "linear").flops, 0) << "they are those of its products";
  EXPECT_EQ(row_of(profiler, "backward", "linear").bytes, 0) << "they are those of its products";
  EXPECT_EQ(row_of(profiler, "rest", "step").calls, 3);
  EXPECT_EQ(row_of(profiler, "rest", "backward").calls, 3);
}

TEST(ProfilerTest, ABackwardOfOneKernelMovesItsOutputAndItsGradient) {
  Profiler profiler;
  const Tensor x = parameter(Array::full({2, 3}, DType::f32, 1.0));
  const ObservedSection section("step");
  backward(sum(softmax(x)));
  EXPECT_EQ(row_of(profiler, "backward", "softmax").bytes, 4 * (6 + 6));
}

TEST(ProfilerTest, WhatOnlyGivesANewShapeMovesNothing) {
  Profiler profiler;
  const Tensor x = parameter(Array::full({2, 3}, DType::f32, 1.0));
  in_section("step", [&] { return reshape(x, {6}); });
  EXPECT_EQ(row_of(profiler, "forward", "reshape").bytes, 0);
}

TEST(ProfilerTest, WhatIsOutsideOfEverySectionDoesNotCount) {
  const Profiler profiler;
  sum(full({2, 3}, 1.0));
  EXPECT_TRUE(profiler.rows().empty());
}

TEST(ProfilerTest, RowsAreSortedAndAddUpToTheWhole) {
  Profiler profiler(/*keep_trace=*/true);
  small_step();
  const std::vector<ProfileRow> rows = profiler.rows();
  EXPECT_TRUE(std::ranges::is_sorted(rows, std::greater(), &ProfileRow::ms));
  double sum = 0;
  for (const ProfileRow& row : rows) sum += row.ms;
  const TraceEvent& step = profiler.trace().back();
  EXPECT_EQ(step.name, "step");
  EXPECT_NEAR(sum, step.duration_us / 1e3, 1e-9);
}

TEST(ProfilerTest, TheTraceIsWhatChromeReads) {
  Profiler profiler(/*keep_trace=*/true);
  small_step();
  const auto trace = nlohmann::json::parse(chrome_trace(profiler.trace()));
  const auto& events = trace["traceEvents"];
  const auto named = [&](const std::string& name, const std::string& category) {
    for (const auto& event : events) {
      if (event["name"] == name && event["cat"] == category) return event;
    }
    ADD_FAILURE() << "no " << category << " " << name;
    return nlohmann::json();
  };
  const auto within = [](const nlohmann::json& inner, const nlohmann::json& outer) {
    const double begin = inner["ts"], end = begin + double(inner["dur"]);
    const double outer_begin = outer["ts"], outer_end = outer_begin + double(outer["dur"]);
    return outer_begin <= begin && end <= outer_end + 1e-9;
  };
  for (const auto& event : events) EXPECT_EQ(event["ph"], "X");
  const auto step = named("step", "rest");
  const auto forward = named("forward", "rest"), backward = named("backward", "rest");
  const auto linear = named("linear", "backward"), matmul = named("matmul", "backward");
  EXPECT_TRUE(within(named("linear", "forward"), forward));
  EXPECT_TRUE(within(forward, step) && within(backward, step));
  EXPECT_TRUE(within(linear, backward) && within(matmul, linear));
  EXPECT_FALSE(within(linear, forward));
  EXPECT_EQ(linear["args"]["scope"], "model");
}

}  // namespace
}  // namespace qkv
