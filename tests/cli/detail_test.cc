// train.detail_interval: what metrics.jsonl tells of each layer.

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "tests/command_line_fixture.h"
#include "tests/run_files.h"

namespace qkv {
namespace {

using nlohmann::json;

class DetailTest : public CommandLineFixture {
 protected:
  void train(const std::string& folder, const std::vector<std::string>& settings) {
    expect_success(train_tiny(folder, settings));
  }

  // By step.
  std::map<int, json> lines(const std::string& folder) {
    std::map<int, json> lines;
    for (const json& line : metrics_in(folder_ / folder)) lines[line["step"]] = line;
    return lines;
  }

  std::map<std::string, std::vector<double>> tensors(const std::string& checkpoint) {
    return numbers_in(folder_ / checkpoint);
  }
};

double norm(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double x : numbers) sum += x * x;
  return std::sqrt(sum);
}

void expect_six_digits(const json& number, double expected) {
  EXPECT_NEAR(number.get<double>(), expected, 1e-5 * std::abs(expected));
}

TEST_F(DetailTest, IsThatOfTheWeightsThatCheckpointsHold) {
  train("a", {"train.steps=4", "train.checkpoint_interval=1", "train.detail_interval=2",
              "train.log_interval=3"});
  const std::map<int, json> all = lines("a");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(all.at(3).contains("detail"));
  const auto before = tensors("a/checkpoints/step-000001.safetensors");
  const auto after = tensors("a/checkpoints/step-000002.safetensors");
  const json& detail = all.at(2)["detail"];
  double sum = 0;
  size_t parameters = 0;
  for (const auto& [name, weights] : after) {
    if (name.starts_with("optimizer.")) continue;
    SCOPED_TRACE(name);
    ++parameters;
    std::vector<double> change = weights;
    for (size_t i = 0; i < change.size(); ++i) change[i] -= before.at(name)[i];
    expect_six_digits(detail["weight_norm"][name], norm(weights));
    expect_six_digits(detail["update_ratio"][name], norm(change) / norm(weights));
    sum += std::pow(detail["gradient_norm"][name].get<double>(), 2);
  }
  EXPECT_EQ(detail["weight_norm"].size(), parameters);
  EXPECT_EQ(detail["gradient_norm"].size(), parameters);
  expect_six_digits(all.at(2)["grad_norm"], std::sqrt(sum));
}

// Where all scores are the same, a query spreads its weight evenly over the keys that it sees.
TEST_F(DetailTest, TheEntropyOfEqualWeightsIsTheLogarithmOfTheirNumber) {
  const std::vector<std::string> settings = {"model.init_std=1e-9", "optimizer.learning_rate=0",
                                             "train.steps=1", "train.detail_interval=1"};
  const auto entropies = [&](const std::string& folder, const std::vector<std::string>& more) {
    std::vector<std::string> all = settings;
    all.insert(all.end(), more.begin(), more.end());
    train(folder, all);
    return lines(folder)[1]["detail"]["attention_entropy"];
  };
  const json causal = entropies("causal", {});  // 012=21
  ASSERT_EQ(causal.size(), 1U);
  ASSERT_EQ(causal["blocks.0.attention.weights"].size(), 2U);
  for (const json& head : causal["blocks.0.attention.weights"]) {
    expect_six_digits(head, std::log(1. * 2 * 3 * 4 * 5 * 6) / 6);
  }
  const json both = entropies("both", {"model.kind=encoder_decoder"});  // 012= and =21
  ASSERT_EQ(both.size(), 3U) << both;
  expect_six_digits(both["encoder.blocks.0.attention.weights"][1], std::log(4));
  expect_six_digits(both["decoder.blocks.0.attention.weights"][0], std::log(6) / 3);
  expect_six_digits(both["decoder.blocks.0.cross_attention.weights"][0], std::log(4));
  EXPECT_TRUE(entropies("none", {"model.mixer=uniform"}).empty());
}

TEST_F(DetailTest, ChangesNoBitAndIsReadBack) {
  train("with", {"train.detail_interval=1", "train.average=0.5", "model.dropout=0.1"});
  train("without", {"train.average=0.5", "model.dropout=0.1"});
  EXPECT_EQ(tensors("with/checkpoints/last.safetensors"),
            tensors("without/checkpoints/last.safetensors"));
  if (has_verb("runs")) {
    const json runs = json::parse(qkv({"runs", "with", "--json", "-"}).output);
    EXPECT_EQ(runs[0]["state"], "finished");
    EXPECT_EQ(runs[0]["steps"], 40);
  }
  expect_success(
      qkv({"train", "tiny.toml", "--out", "with", "--resume", "--set", "train.steps=45", "--set",
           "train.detail_interval=0", "--set", "train.average=0.5", "--set", "model.dropout=0.1"}));
  EXPECT_TRUE(lines("with")[40].contains("detail"));
  EXPECT_FALSE(lines("with")[45].contains("detail"));
}

}  // namespace
}  // namespace qkv
