// train.tensorboard: event files, and the bytes of their records.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "apps/exchange/listeners/tensorboard/event_record.h"
#include "apps/exchange/protocol_buffer.h"
#include "tests/command_line_fixture.h"
#include "tests/run_files.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::EndsWith;

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

  // The events of a file, in records as they should be.
  std::vector<std::string> events(const std::string& name) {
    std::vector<std::string> events;
    for (std::string file = in(name); !file.empty();) {
      uint64_t length = 0;
      std::memcpy(&length, file.data(), std::min(file.size(), sizeof length));
      const std::string record = file.size() < 16 ? file : file.substr(0, length + 16);
      events.push_back(record.size() < 16 ? "" : record.substr(12, record.size() - 16));
      EXPECT_TRUE(record == tf_record(events.back())) << "record " << events.size();
      file.erase(0, record.size());
    }
    return events;
  }
};

double time_of(const std::string& event) {  // after the key of the first field
  double time = 0;
  std::memcpy(&time, event.data() + 1, sizeof time);
  return time;
}

TEST_F(TensorboardTest, AFileTellsWhatTheFilesOfTheRunTell) {
  train({"--set", "train.tensorboard=true", "--set", "train.detail_interval=10"});
  ASSERT_EQ(files().size(), 1U);
  EXPECT_TRUE(files()[0].starts_with("a/events.out.tfevents.")) << files()[0];
  const std::vector<std::string> found = events(files()[0]);
  const std::vector<json> lines = metrics_in(folder_ / "a");
  ASSERT_EQ(found.size(), lines.size() + 2);
  EXPECT_EQ(found[0], version_event(time_of(found[0])));
  EXPECT_EQ(found[1], start_event(time_of(found[1]), 1));
  for (size_t i = 0; i < lines.size(); ++i) {
    const json& line = lines[i];
    SCOPED_TRACE(line.dump());
    const std::string& event = found[i + 2];
    EXPECT_GT(time_of(event), 1e9);
    EventSummary scalars;
    const auto expect_scalar = [&](const std::string& name, const json& number) {
      EventSummary scalar;
      scalar.add_scalar(name, number);
      EXPECT_TRUE(absl::StrContains(event, scalar.bytes())) << name;
      scalars.add_scalar(name, number);
    };
    for (const auto& [name, number] : line.items()) {
      if (number.is_number() && name != "step") expect_scalar(name, number);
    }
    if (line.contains("detail")) {
      for (const auto& [kind, each] : line["detail"].items()) {
        for (const auto& [name, value] : each.items()) {
          const std::string tag = absl::StrCat(kind, "/", name);
          if (value.is_number()) expect_scalar(tag, value);
          for (size_t k = 0; value.is_array() && k < value.size(); ++k) {
            expect_scalar(absl::StrCat(tag, "/", k), value[k]);
          }
        }
      }
    }
    const size_t size = summary_event(1, line["step"], scalars).size();
    if (line.contains("val_loss")) {
      EXPECT_GT(event.size(), size);
    } else {
      EXPECT_EQ(event.size(), size);
    }
    EXPECT_TRUE(event.substr(9).starts_with(ProtocolBuffer().add_integer(2, line["step"]).bytes()));
  }
  std::string written = in("a/samples.txt");
  written.erase(0, written.find("step 40\n") + std::string("step 40\n").size());
  absl::StripTrailingAsciiWhitespace(&written);
  EventSummary samples;
  samples.add_text("samples", "    " + absl::StrReplaceAll(written, {{"\n", "\n    "}}));
  EXPECT_TRUE(found.back().ends_with(samples.bytes())) << written;
}

TEST_F(TensorboardTest, AHistogramHoldsAllWeightsThatWereEvaluated) {
  train({"--set", "train.tensorboard=true", "--set", "train.average=0.9"});
  const std::vector<std::string> found = events(files().at(0));
  for (const auto& [name, numbers] : numbers_in(folder_ / "a/checkpoints/last.safetensors")) {
    EventSummary histogram;
    histogram.add_histogram("weights/" + name, numbers);
    EXPECT_EQ(absl::StrContains(found.back(), histogram.bytes()), !name.starts_with("optimizer."))
        << name;
  }
}

TEST_F(TensorboardTest, ARunThatGoesOnBeginsAFileThatTakesThePlaceOfLaterSteps) {
  train({"--set", "train.tensorboard=true"});
  train({"--set", "train.tensorboard=true", "--resume"});  // it is finished: nothing to tell
  ASSERT_EQ(files().size(), 1U);
  train({"--set", "train.tensorboard=true", "--set", "train.steps=60", "--resume"});
  ASSERT_EQ(files().size(), 2U);
  const std::vector<std::string> found = events(files()[1]);
  EXPECT_EQ(found.at(1), start_event(time_of(found[1]), 41));
  EXPECT_TRUE(found.at(2).substr(9).starts_with(ProtocolBuffer().add_integer(2, 45).bytes()));
  EXPECT_TRUE(found.back().substr(9).starts_with(ProtocolBuffer().add_integer(2, 60).bytes()));
  train({"--set", "train.steps=65", "--resume"});
  EXPECT_EQ(files().size(), 2U);
}

TEST(EventRecordTest, TheChecksumIsThatOfRfc3720) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
}

// A field is its key, 8 · its number + its type (0: an integer, 1: f64, 2: bytes, 5: f32), and its
// value.
TEST(EventRecordTest, EventsAreTheBytesOfTheirDefinitions) {
  const auto hex = [](const std::string& bytes) { return absl::BytesToHexString(bytes); };
  const std::string time = "09000000000000f83f", step = "10ac02";  // 1.5, 300
  EXPECT_EQ(hex(version_event(1.5)), time + "10001a0d" + hex("brain.Event:2"));
  EXPECT_EQ(hex(start_event(1.5, 300)), time + step + "3a020801");
  EventSummary scalar, text, histogram;
  scalar.add_scalar("loss", NAN);
  EXPECT_EQ(hex(summary_event(1.5, 300, scalar)),
            time + step + "2a0d0a0b0a04" + hex("loss") + "150000c07f");
  text.add_text("t", "hi");
  EXPECT_EQ(hex(text.bytes()), "0a190a01" + hex("t") + "420808071200" + "4202" + hex("hi") +
                                   "4a0a" + "0a060a04" + hex("text") + "2002");
  histogram.add_histogram("h", std::vector<double>{2, INFINITY, 2});
  const std::string two = "0000000000000040", four = "0000000000001040", eight = "0000000000002040";
  EXPECT_EQ(hex(histogram.bytes()), "0a460a01" + hex("h") + "2a41" + "09" + two + "11" + two +
                                        "19" + two + "21" + four + "29" + eight + "3208" + two +
                                        "3a08" + two);
  EXPECT_EQ(hex(tf_record("abc")), "0300000000000000b099490e6162636e57f121");
}

TEST(EventRecordTest, AHistogramHas30BucketsOfOneWidthAndFiniteNumbers) {
  std::vector<double> numbers = {NAN}, limits, counts(30, 2);
  for (int i = 0; i <= 60; ++i) numbers.push_back(i / 2.0);
  for (int i = 1; i <= 30; ++i) limits.push_back(i);
  counts.back() += 1;
  ProtocolBuffer expected;
  expected.add_double(1, 0).add_double(2, 30).add_double(3, 61).add_double(4, 915);
  expected.add_double(5, 18452.5).add_doubles(6, limits).add_doubles(7, counts);
  EventSummary summary;
  summary.add_histogram("none", std::vector<double>{NAN});
  EXPECT_EQ(summary.bytes(), "");
  summary.add_histogram("some", numbers);
  EXPECT_THAT(summary.bytes(), EndsWith(expected.bytes()));
  summary.add_histogram("far", std::vector<double>{-1e308, 1e308});
  expected = ProtocolBuffer();
  expected.add_doubles(6, std::vector<double>{1e308}).add_doubles(7, std::vector<double>{2});
  EXPECT_THAT(summary.bytes(), EndsWith(expected.bytes()));
}

}  // namespace
}  // namespace qkv
