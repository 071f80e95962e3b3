#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "apps/labs/kit/trained.h"
#include "tests/temporary_folder.h"
#include "tests/train/config/parsed.h"
#include "tests/train/loop/observed_run.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// How many steps were made before its eyes.
class StepCounter final : public RunListener {
 public:
  void report(const StepReport& step) override {
    ++steps_;
    EXPECT_EQ(step.metrics.step, steps_);
  }
  int64_t steps() const { return steps_; }

 private:
  int64_t steps_ = 0;
};

class TrainOnceTest : public testing::Test {
 protected:
  // The losses of the run, and how many steps were made for them now.
  std::vector<double> train(const Config& config, int64_t steps_made) {
    StepCounter counter;
    const absl::StatusOr<FinishedRun> run = train_once(run_, config, counter);
    EXPECT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(counter.steps(), steps_made);
    std::vector<double> losses;
    if (!run.ok()) return losses;
    for (const Metrics& step : run->metrics) losses.push_back(step.loss.value());
    return losses;
  }

  const TemporaryFolder folder_;
  const std::string run_ = folder_ / "runs/x";
  const Config config_ = parsed(kSmallRun);
};

TEST_F(TrainOnceTest, GivesTheModelTheMetricsAndTheLastEvaluation) {
  StepCounter counter;
  const absl::StatusOr<FinishedRun> run = train_once(run_, config_, counter);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->metrics.size(), 10u);
  const absl::StatusOr<Evaluation> evaluation =
      evaluate(run->model, *run->dataset, Split::kValidation, config_.train.batch_size);
  EXPECT_EQ(run->metrics.back().val_loss, evaluation->loss);
  EXPECT_EQ(observe_run(kSmallRun).at(10).val_loss, evaluation->loss) << "as qkv train does";
}

TEST_F(TrainOnceTest, TrainsTheSameConfigOnceAndAnotherAnew) {
  const std::vector<double> losses = train(config_, 10);
  EXPECT_EQ(train(config_, 0), losses);
  Config other = config_;
  other.seed = 2;
  EXPECT_NE(train(other, 10), losses);
  EXPECT_EQ(train(config_, 10), losses);
}

TEST_F(TrainOnceTest, WhatIsUnfinishedOrDamagedOrWouldComeOutOtherwiseIsTrainedAnew) {
  const std::vector<double> losses = train(config_, 10);
  const std::string metrics = run_ + "/metrics.jsonl";
  const std::string whole = contents_of(metrics);
  std::string other = whole;
  char& digit = other[other.find("\"loss\":", other.find('\n')) + 7];
  digit = digit == '9' ? '8' : '9';
  for (const std::string& damaged :
       {std::string(), other, whole + whole, whole.substr(whole.find('\n') + 1)}) {
    write_bytes(metrics, damaged);
    EXPECT_EQ(train(config_, 10), losses);
  }
  for (const char* const part : {"/config.toml", "/checkpoints/last.safetensors"}) {
    write_bytes(run_ + part, "x\n");
    EXPECT_EQ(train(config_, 10), losses);
    fs::remove(run_ + part);
    EXPECT_EQ(train(config_, 10), losses);
  }
  fs::remove_all(run_);
  write_bytes(run_, "a file");
  EXPECT_EQ(train(config_, 10), losses);
}

TEST_F(TrainOnceTest, WaitsForWhoeverTrainsThere) {
  std::optional<RunFolder> other = *RunFolder::create(run_, config_);
  std::jthread trains([&] { train(config_, 10); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(fs::exists(run_ + "/metrics.jsonl"));
  fs::remove_all(run_);  // as a run that fails does; a new folder is made then
  other.reset();
  trains.join();
  train(config_, 0);
}

TEST_F(TrainOnceTest, ARunThatFailsLeavesNoFolder) {
  Config config = config_;
  config.optimizer.learning_rate = 1e300;
  StepCounter counter;
  EXPECT_FALSE(train_once(run_, config, counter).ok());
  EXPECT_FALSE(fs::exists(run_));
}

}  // namespace
}  // namespace qkv
