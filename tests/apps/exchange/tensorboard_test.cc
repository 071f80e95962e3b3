// train.tensorboard: event files, read by a reader of the test's own.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "apps/exchange/listeners/tensorboard/event_record.h"
#include "framework/io/safetensors.h"
#include "tests/apps/exchange/event_reader.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class TensorboardTest : public CommandLineFixture {
 protected:
  void train(const std::vector<std::string>& more) {
    std::vector<std::string> command = {"train", "tiny.toml", "--out", "a"};
    for (const std::string& word : more) command.push_back(word);
    expect_success(qkv(command));
  }

  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "a")) {
      const std::string name = entry.path().filename();
      if (name.starts_with("events.")) names.push_back("a/" + name);
    }
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(TensorboardTest, AFileTellsWhatTheFilesOfTheRunTell) {
  train({"--set", "train.tensorboard=true", "--set", "train.detail_interval=10"});
  ASSERT_EQ(files().size(), 1U);
  EXPECT_TRUE(files()[0].starts_with("a/events.out.tfevents.")) << files()[0];
  const std::vector<EventRead> events = read_events(in(files()[0]));
  const std::vector<std::string> lines =
      absl::StrSplit(in("a/metrics.jsonl"), '\n', absl::SkipEmpty());
  ASSERT_EQ(events.size(), lines.size() + 2);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[1].session_status, 1);  // START
  for (size_t i = 0; i < lines.size(); ++i) {
    const json line = json::parse(lines[i]);
    const EventRead& event = events[i + 2];
    SCOPED_TRACE(lines[i]);
    EXPECT_EQ(event.step, line["step"]);
    EXPECT_GT(event.time, 1e9);
    size_t numbers = 0;
    for (const auto& [name, number] : line.items()) {
      if (!number.is_number() || name == "step") continue;
      EXPECT_EQ(event.scalars.at(name), static_cast<float>(number.get<double>())) << name;
      ++numbers;
    }
    if (line.contains("detail")) {
      for (const auto& [name, each] : line["detail"].items()) numbers += each.size();
      numbers += 1;  // the second head
      EXPECT_EQ(event.scalars.at("attention_entropy/blocks.0.attention.weights/1"),
                line["detail"]["attention_entropy"]["blocks.0.attention.weights"][1].get<float>());
    }
    EXPECT_EQ(event.scalars.size(), numbers);
    EXPECT_EQ(event.texts.size(), line.contains("val_loss") ? 1U : 0U);
    EXPECT_EQ(event.histograms.empty(), !line.contains("val_loss"));
  }
  const std::string samples =
      absl::StrReplaceAll(events.back().texts.at("samples"), {{"\n    ", "\n"}});
  EXPECT_THAT(in("a/samples.txt"), HasSubstr("step 40\n" + samples.substr(4)));
}

TEST_F(TensorboardTest, AHistogramHoldsAllWeightsThatWereEvaluated) {
  train({"--set", "train.tensorboard=true", "--set", "train.average=0.9"});
  const std::vector<EventRead> events = read_events(in(files().at(0)));
  const auto file = read_safetensors(folder_ / "a/checkpoints/last.safetensors");
  ASSERT_TRUE(file.ok());
  size_t parameters = 0;
  for (const auto& [name, array] : file->tensors) {
    if (name.starts_with("optimizer.")) continue;
    SCOPED_TRACE(name);
    ++parameters;
    const std::vector<double> weights = array.to_vector();
    const HistogramRead& histogram = events.back().histograms.at("weights/" + name);
    EXPECT_EQ(histogram.min, std::ranges::min(weights));
    EXPECT_EQ(histogram.max, std::ranges::max(weights));
    EXPECT_EQ(histogram.count, static_cast<double>(weights.size()));
    EXPECT_DOUBLE_EQ(histogram.sum, std::accumulate(weights.begin(), weights.end(), 0.0));
    EXPECT_DOUBLE_EQ(histogram.sum_of_squares,
                     std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0));
    ASSERT_EQ(histogram.limits.size(), histogram.counts.size());
    EXPECT_EQ(histogram.limits.back(), histogram.max);
    double count = 0;
    for (size_t i = 0; i < histogram.limits.size(); ++i) {
      count += histogram.counts[i];
      const double limit = histogram.limits[i] + 1e-12;
      const auto below = std::ranges::count_if(weights, [&](double w) { return w <= limit; });
      EXPECT_NEAR(count, static_cast<double>(below), 1) << "up to " << limit;
    }
    EXPECT_EQ(count, histogram.count);
  }
  EXPECT_EQ(events.back().histograms.size(), parameters);
}

TEST_F(TensorboardTest, ARunThatGoesOnBeginsAFileThatTakesThePlaceOfLaterSteps) {
  train({"--set", "train.tensorboard=true"});
  train({"--set", "train.tensorboard=true", "--resume"});  // it is finished: nothing to tell
  ASSERT_EQ(files().size(), 1U);
  train({"--set", "train.tensorboard=true", "--set", "train.steps=60", "--resume"});
  ASSERT_EQ(files().size(), 2U);
  const std::vector<EventRead> events = read_events(in(files()[1]));
  EXPECT_EQ(events.at(1).session_status, 1);
  EXPECT_EQ(events[1].step, 41);
  EXPECT_EQ(events.at(2).step, 45);
  EXPECT_EQ(events.back().step, 60);
  train({"--set", "train.steps=65", "--resume"});
  EXPECT_EQ(files().size(), 2U);
}

TEST(EventRecordTest, TheChecksumIsThatOfRfc3720) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
}

TEST(EventRecordTest, NumbersThatAreNotFiniteAreInNoHistogram) {
  EventSummary summary;
  summary.add_histogram("none", std::vector<double>{NAN});
  summary.add_histogram("one", std::vector<double>{2, INFINITY, 2});
  summary.add_histogram("far", std::vector<double>{-1e308, 1e308});
  summary.add_scalar("nan", NAN);
  const std::string file = tf_record(summary_event(1, -1, summary));
  const EventRead event = read_events(file).at(0);
  EXPECT_EQ(event.step, -1);
  EXPECT_EQ(event.histograms.size(), 2U);
  EXPECT_EQ(event.histograms.at("one").counts, std::vector<double>{2});
  EXPECT_EQ(event.histograms.at("one").limits, std::vector<double>{2});
  EXPECT_EQ(event.histograms.at("far").count, 2);
  EXPECT_TRUE(std::isnan(event.scalars.at("nan")));
}

}  // namespace
}  // namespace qkv
