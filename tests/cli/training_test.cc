// When a run ends before its last step, and which weights it comes to.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"
#include "tests/run_files.h"

namespace qkv {
namespace {

using nlohmann::json;
using Tensors = std::map<std::string, std::vector<double>>;

class EndOfRunTest : public CommandLineFixture {
 protected:
  void train(const std::string& folder, const std::vector<std::string>& settings) {
    expect_success(train_tiny(folder, settings));
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
  train("whole", settings);
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
  train("a", settings);
  EXPECT_EQ(std::ssize(metrics_in(folder_ / "a")), expected);
}

// The mean of the weights after each step, in which a step counts 0.9 times as much as the next.
TEST_F(EndOfRunTest, TheAverageIsWhatIsEvaluatedAndSaved) {
  const std::vector<std::string> settings = {"train.steps=10", "train.eval_interval=5",
                                             "train.checkpoint_interval=1"};
  std::vector<std::string> averaged = settings;
  averaged.emplace_back("train.average=0.9");
  train("plain", settings);
  train("mean", averaged);
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

// ./qkv train --from RUN: a run that begins with the weights of another.

using testing::HasSubstr;

class FirstWeightsTest : public CommandLineFixture {
 protected:
  FirstWeightsTest() { expect_success(qkv({"train", "tiny.toml", "--out", "source"})); }

  ProcessResult train(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"train", "tiny.toml"});
    return qkv(arguments);
  }

  // A rate of 0 keeps the weights that the run began with.
  ProcessResult keep(const std::string& out, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--out", out, "--set", "optimizer.learning_rate=0", "--set",
                                       "train.steps=1"});
    return train(arguments);
  }

  void expect_same(const std::string& a, const std::string& b, const std::string& name) {
    const std::string best = "/checkpoints/best.safetensors";
    EXPECT_EQ(numbers_in(folder_ / (a + best)).at(name), numbers_in(folder_ / (b + best)).at(name))
        << name;
  }
};

TEST_F(FirstWeightsTest, WhatDoesNotFitIsListedAndBeginsAsWithoutThem) {
  const std::vector<std::string> larger = {"--set", "model.num_layers=2", "--set", "data.length=4",
                                           "--set", "model.num_heads=4"};
  std::vector<std::string> from = larger;
  from.insert(from.end(), {"--from", "source/checkpoints/last.safetensors"});
  const ProcessResult result = keep("next", from);
  expect_success(result);
  EXPECT_THAT(
      result.output,
      HasSubstr("not taken from there: position_embedding.weight (f32[6, 16], here f32[8,"));
  EXPECT_THAT(result.output,
              HasSubstr("not there, so they begin anew: blocks.1.attention_norm.weight,"));
  EXPECT_THAT(
      result.output,
      HasSubstr(
          "\nthe model differs: model.num_layers is 2, but was 1, model.num_heads is 4, but"));
  expect_success(keep("random", larger));
  expect_same("source", "next", "blocks.0.attention.query.weight");
  expect_same("random", "next", "position_embedding.weight");
  expect_same("random", "next", "blocks.1.attention.query.weight");
}

// train.detail_interval: what metrics.jsonl tells of each layer.

class DetailTest : public EndOfRunTest {
 protected:
  // By step.
  std::map<int, json> lines(const std::string& folder) {
    std::map<int, json> lines;
    for (const json& line : metrics_in(folder_ / folder)) lines[line["step"]] = line;
    return lines;
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
  const auto before = tensors("a/checkpoints/step-000001");
  const auto after = tensors("a/checkpoints/step-000002");
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
  EXPECT_EQ(tensors("with/checkpoints/last"), tensors("without/checkpoints/last"));
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
