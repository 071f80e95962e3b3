// When a run ends before its last step, and which weights it comes to.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"
#include "tests/run_files.h"

namespace qkv {
namespace {

using nlohmann::json;
using Tensors = std::map<std::string, std::vector<double>>;

class EndOfRunTest : public CommandLineFixture {
 protected:
  ProcessResult train(const std::string& folder, const std::vector<std::string>& settings) {
    return train_tiny(folder, settings);
  }

  Tensors tensors(const std::string& checkpoint) {
    return numbers_in(folder_ / (checkpoint + ".safetensors"));
  }
};

// The same run without patience tells where it has to run out.
TEST_F(EndOfRunTest, ASmallerLossGivesPatienceAnew) {
  constexpr int kPatience = 5;
  std::vector<std::string> settings = {"train.eval_interval=1", "optimizer.learning_rate=0.02",
                                       "optimizer.schedule=constant"};
  expect_success(train("whole", settings));
  double best = INFINITY;
  int step = 0, since_best = 0, all_larger = 0, expected = 0, without_reset = 0;
  for (const json& line : metrics_in(folder_ / "whole")) {
    ++step;
    const double loss = line["val_loss"];
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
  EXPECT_EQ(std::ssize(metrics_in(folder_ / "a")), expected);
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
  const json loss = metrics_in(folder_ / "mean").back()["val_loss"];
  EXPECT_DOUBLE_EQ(evaluation["loss"].get<double>(), loss.get<double>());
  EXPECT_NE(loss, metrics_in(folder_ / "plain").back()["val_loss"]);
}

}  // namespace
}  // namespace qkv
