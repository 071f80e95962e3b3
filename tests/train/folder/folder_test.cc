#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tests/temporary_folder.h"
#include "train/config/config.h"
#include "train/folder/metrics.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

TEST(MetricsTest, ALineHoldsWhatWasMeasuredInAFixedOrder) {
  Metrics metrics;
  metrics.val_loss = 1;
  metrics.step = 20;
  metrics.loss = 0.1;
  EXPECT_EQ(metrics_to_json(metrics), R"({"step":20,"loss":0.1,"val_loss":1.0})");
  metrics = {100, 2.5, 1e-3, 0.75, 12345.5, 3.25, 2.25, 0.5, 0.25, 0.125, 0.75};
  EXPECT_EQ(
      metrics_to_json(metrics),
      R"({"step":100,"loss":2.5,"learning_rate":0.001,"grad_norm":0.75,)"
      R"("tokens_per_second":12345.5,"elapsed_seconds":3.25,"val_loss":2.25,)"
      R"("val_token_accuracy":0.5,"val_sequence_accuracy":0.25,"train_sequence_accuracy":0.125,)"
      R"("val_end_accuracy":0.75})");
}

TEST(MetricsTest, ALineReadsBackAsTheSameNumbers) {
  Metrics metrics;
  metrics.step = std::numeric_limits<int64_t>::max();
  metrics.loss = 0.1 + 0.2;
  metrics.learning_rate = std::numeric_limits<double>::denorm_min();
  metrics.grad_norm = std::numeric_limits<double>::max();
  metrics.val_loss = std::nextafter(1.0, 2.0);
  const absl::StatusOr<Metrics> again = metrics_from_json(metrics_to_json(metrics));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, metrics);
}

TEST(MetricsTest, DetailIsTheLastOfALineAndReadsBackInItsOrder) {
  Metrics metrics;
  metrics.step = 3;
  metrics.val_loss = 1.5;
  metrics.detail = StepDetail{.gradient_norm = {{"b", 0.25}, {"a", 2}},
                              .weight_norm = {{"b", 1}, {"a", 0}},
                              .update_ratio = {{"b", 1e-3}},
                              .attention_entropy = {{"blocks.0.attention.weights", {0.5, 1}}}};
  const std::string line = metrics_to_json(metrics);
  EXPECT_EQ(line, R"({"step":3,"val_loss":1.5,"detail":{"gradient_norm":{"b":0.25,"a":2.0},)"
                  R"("weight_norm":{"b":1.0,"a":0.0},"update_ratio":{"b":0.001},)"
                  R"("attention_entropy":{"blocks.0.attention.weights":[0.5,1.0]}}})");
  const absl::StatusOr<Metrics> again = metrics_from_json(line);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, metrics);
  for (const char* detail :
       {"1", "[]", R"({"weight_norm":1})", R"({"weight_norm":{"a":"b"}})",
        R"({"attention_entropy":{"a":1}})", R"({"attention_entropy":{"a":[true]}})"}) {
    EXPECT_EQ(
        metrics_from_json(absl::StrCat("{\"step\":1,\"detail\":", detail, "}")).status().message(),
        "\"detail\" holds no numbers")
        << detail;
  }
}

TEST(MetricsTest, WhatIsNotFiniteIsNull) {
  Metrics metrics;
  metrics.loss = std::numeric_limits<double>::quiet_NaN();
  metrics.grad_norm = std::numeric_limits<double>::infinity();
  EXPECT_EQ(metrics_to_json(metrics), R"({"step":0,"loss":null,"grad_norm":null})");
  EXPECT_TRUE(std::isnan(*metrics_from_json(metrics_to_json(metrics))->loss));
}

TEST(MetricsTest, ADamagedLineIsAnError) {
  const auto message = [](const std::string& line) {
    return std::string(metrics_from_json(line).status().message());
  };
  EXPECT_EQ(message("{\"step\":1"), "not a JSON object");
  EXPECT_EQ(message("[1]"), "not a JSON object");
  EXPECT_EQ(message(""), "not a JSON object");
  EXPECT_EQ(message("{\"step\":1,\"loss\":1e999}"), "a number is out of the range of f64");
  EXPECT_EQ(message("{\"loss\":1}"), "\"step\" is missing or not an integer of 0 or more");
  for (const char* step : {"1.5", "-1", "9223372036854775808"}) {
    EXPECT_EQ(message(absl::StrCat("{\"step\":", step, "}")),
              "\"step\" is missing or not an integer of 0 or more");
  }
  EXPECT_EQ(message("{\"step\":1,\"loss\":\"low\"}"), "\"loss\" is not a number");
}

TEST(MetricsTest, AFileIsReadUpToItsTornEnd) {
  const TemporaryFolder folder;
  write_bytes(folder / "m", "{\"step\":1,\"loss\":2}\n{\"step\":2}\n{\"st");
  const absl::StatusOr<std::vector<Metrics>> lines = read_metrics(folder / "m");
  ASSERT_TRUE(lines.ok()) << lines.status();
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[0].loss, 2.0);
  EXPECT_EQ((*lines)[1].step, 2);
  write_bytes(folder / "m", "{\"step\":1}\nzebra\n");
  EXPECT_EQ(read_metrics(folder / "m").status().message(),
            (folder / "m") + ":2: not a JSON object");
}

TEST(MetricsTest, AResumeDropsTheLinesOfLaterSteps) {
  const TemporaryFolder folder;
  const std::string kept = "{\"step\":10}\n{\"step\":20,\"val_loss\":1.0}\n";
  write_bytes(folder / "m", kept + "{\"step\":30}\n{\"step\":40}\n{\"ste");
  ASSERT_TRUE(cut_metrics(folder / "m", 20).ok());
  EXPECT_EQ(contents_of(folder / "m"), kept);
  ASSERT_TRUE(cut_metrics(folder / "m", 0).ok());
  EXPECT_EQ(contents_of(folder / "m"), "");
  EXPECT_TRUE(cut_metrics(folder / "none", 0).ok());
}

namespace fs = std::filesystem;

std::string mistake(const absl::StatusOr<RunFolder>& folder) {
  return std::string(folder.status().message());
}

TEST(RunFolderTest, OneProcessAtATimeTrainsIntoIt) {
  const TemporaryFolder folder;
  std::optional<RunFolder> run = *RunFolder::create(folder / "x", Config());
  write_bytes(run->last_checkpoint(), "");
  const std::string in_use = (folder / "x") + " is in use: another process trains into it";
  EXPECT_EQ(mistake(RunFolder::resume(folder / "x")), in_use);
  EXPECT_EQ(mistake(RunFolder::create(folder / "x", Config())), in_use);
  run.reset();
  EXPECT_TRUE(RunFolder::resume(folder / "x").ok());
}

TEST(RunFolderTest, IsFollowedWhereItIsMoved) {
  const TemporaryFolder folder;
  absl::StatusOr<RunFolder> run = RunFolder::create(folder / "x", Config());
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(*run->follow());
  fs::rename(folder / "x", folder / "y");
  EXPECT_TRUE(*run->follow());
  EXPECT_EQ(run->config(), fs::canonical(folder / "y/config.toml"));
  EXPECT_FALSE(*run->follow());
  const std::string place = run->path();
  fs::remove_all(place);
  EXPECT_EQ(run->follow().status().message(),
            place + " was removed while the run trained into it; nothing is left");
}

}  // namespace
}  // namespace qkv
