// When a run ends before its last step, and which weights it comes to.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "framework/io/safetensors.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using Tensors = std::map<std::string, std::vector<double>>;

class EndOfRunTest : public CommandLineFixture {
 protected:
  ProcessResult train(const std::string& folder, const std::vector<std::string>& settings,
                      bool resume = false) {
    std::vector<std::string> command = {"train", "tiny.toml", "--out", folder};
    if (resume) command.emplace_back("--resume");
    for (const std::string& setting : settings) {
      command.insert(command.end(), {"--set", setting});
    }
    return qkv(command);
  }

  Tensors tensors(const std::string& checkpoint) {
    Tensors tensors;
    const auto file = read_safetensors(folder_ / (checkpoint + ".safetensors"));
    EXPECT_TRUE(file.ok()) << file.status();
    if (!file.ok()) return tensors;
    for (const auto& [name, array] : file->tensors) tensors[name] = array.to_vector();
    return tensors;
  }

  // By `qkv runs`, where there is that app.
  void expect_told(const std::string& key, const json& value) {
    if (!has_verb("runs")) return;
    EXPECT_EQ(json::parse(qkv({"runs", "a", "--json", "-"}).output)[0][key], value);
  }
};

TEST_F(EndOfRunTest, PatienceRunsOutAfterEvaluationsWithoutASmallerLoss) {
  const std::vector<std::string> standing_still = {"optimizer.learning_rate=0",
                                                   "train.eval_interval=5"};
  const auto with = [&](const std::string& patience) {
    std::vector<std::string> all = standing_still;
    all.push_back("train.patience=" + patience);
    return all;
  };
  const ProcessResult first = train("a", with("2"));
  expect_success(first);
  const std::string why =
      "after step 15 of 40 the validation loss has not become smaller in 2 evaluations";
  EXPECT_THAT(unfolded(first.output), HasSubstr("ended: " + why));
  EXPECT_THAT(first.output, HasSubstr("trained 15 steps"));
  expect_told("state", "finished");
  expect_told("steps", 15);

  const ProcessResult again = train("a", with("2"), /*resume=*/true);
  expect_success(again);
  EXPECT_THAT(unfolded(again.output), HasSubstr("this run is already finished: " + why));
  const ProcessResult more = train("a", with("4"), /*resume=*/true);
  expect_success(more);
  EXPECT_THAT(more.output, HasSubstr("ended: after step 25 of 40"));
  expect_success(train("a", with("0"), /*resume=*/true));
  expect_success(train("whole", standing_still));
  EXPECT_EQ(tensors("a/checkpoints/last"), tensors("whole/checkpoints/last"));
  expect_told("steps", 40);
}

// The same run without patience tells where it has to run out.
TEST_F(EndOfRunTest, ASmallerLossGivesPatienceAnew) {
  constexpr int kPatience = 5;
  std::vector<std::string> settings = {"train.eval_interval=1", "optimizer.learning_rate=0.02",
                                       "optimizer.schedule=constant"};
  expect_success(train("whole", settings));
  double best = INFINITY;
  int step = 0, since_best = 0, all_larger = 0, expected = 0, without_reset = 0;
  for (const auto text : absl::StrSplit(in("whole/metrics.jsonl"), '\n', absl::SkipEmpty())) {
    ++step;
    const double loss = json::parse(std::string(text))["val_loss"];
    const bool is_larger = loss >= best;
    since_best = is_larger ? since_best + 1 : 0;
    all_larger += is_larger;
    best = std::min(best, loss);
    if (expected == 0 && since_best == kPatience) expected = step;
    if (without_reset == 0 && all_larger == kPatience) without_reset = step;
  }
  ASSERT_GT(expected, without_reset);
  settings.push_back(absl::StrCat("train.patience=", kPatience));
  expect_success(train("a", settings));
  expect_told("steps", expected);
}

TEST_F(EndOfRunTest, TimeRunsOutOverAllResumes) {
  const std::string step = "train.max_minutes=1e-9";  // less than a step takes
  const ProcessResult first = train("a", {step});
  expect_success(first);
  EXPECT_THAT(unfolded(first.output),
              testing::ContainsRegex("stopped after step 1 of 40, after [0-9.]+ s of training "
                                     "\\(train.max_minutes = 1e-09\\); saved\\."));
  expect_told("state", "stopped");
  const ProcessResult again = train("a", {step}, /*resume=*/true);
  expect_success(again);  // although metrics.jsonl has no line yet
  EXPECT_THAT(again.output, HasSubstr("stopped after step 1 of 40"));
  expect_success(train("a", {}, /*resume=*/true));
  expect_success(train("whole", {}));
  EXPECT_EQ(in("a/checkpoints/last.safetensors"), in("whole/checkpoints/last.safetensors"));
}

// The mean of the weights after each step, in which a step counts 0.9 times as much as the next.
TEST_F(EndOfRunTest, TheAverageIsWhatIsEvaluatedAndSaved) {
  const std::vector<std::string> settings = {"train.steps=10", "train.eval_interval=5",
                                             "train.checkpoint_interval=1"};
  std::vector<std::string> averaged = settings;
  averaged.emplace_back("train.average=0.9");
  expect_success(train("plain", settings));
  expect_success(train("mean", averaged));
  Tensors sums;
  double weight = 0;
  for (int step = 1; step <= 10; ++step) {
    weight = 0.9 * weight + 1;
    const Tensors at =
        tensors(absl::StrCat("plain/checkpoints/step-", step < 10 ? "00000" : "0000", step));
    for (const auto& [name, numbers] : at) {
      std::vector<double>& sum = sums[name];
      sum.resize(numbers.size());
      for (size_t i = 0; i < numbers.size(); ++i) sum[i] = 0.9 * sum[i] + numbers[i];
    }
  }
  const Tensors plain = tensors("plain/checkpoints/last"), mean = tensors("mean/checkpoints/last");
  for (const auto& [name, numbers] : plain) {
    if (name.starts_with("optimizer.")) {
      EXPECT_EQ(mean.at(name), numbers) << name;
      continue;
    }
    EXPECT_EQ(mean.at("optimizer.weight." + name), numbers) << name;
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_NEAR(mean.at(name)[i], sums[name][i] / weight, 1e-6) << name;
    }
  }
  const json evaluation = json::parse(qkv({"eval", "mean", "--json", "-"}).output);
  const std::string lines = in("mean/metrics.jsonl");
  const json last = json::parse(lines.substr(lines.rfind("\n{") + 1));
  EXPECT_DOUBLE_EQ(evaluation["loss"].get<double>(), last["val_loss"].get<double>());
  EXPECT_NE(last["val_loss"],
            json::parse(in("plain/metrics.jsonl")
                            .substr(in("plain/metrics.jsonl").rfind("\n{") + 1))["val_loss"]);
}

TEST_F(EndOfRunTest, TheAverageGoesOnWithTheSameBits) {
  const std::string average = "train.average=0.99";
  expect_success(train("a", {average, "train.max_minutes=1e-9", "train.threads=1"}));
  expect_success(train("a", {average, "train.threads=2"}, /*resume=*/true));
  expect_success(train("whole", {average, "train.threads=2"}));
  EXPECT_EQ(in("a/checkpoints/last.safetensors"), in("whole/checkpoints/last.safetensors"));
  const ProcessResult other = train("a", {"train.average=0.5"}, /*resume=*/true);
  EXPECT_EQ(other.exit_status, 2);
  EXPECT_THAT(other.errors, HasSubstr("train.average is 0.5, but was 0.99. Undo the change"));
}

}  // namespace
}  // namespace qkv
