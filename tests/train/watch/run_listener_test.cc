#include "train/watch/run_listener.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/temporary_folder.h"
#include "tests/train/config/parsed.h"
#include "train/loop/train.h"

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

}  // namespace
}  // namespace qkv
