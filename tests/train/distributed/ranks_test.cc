// What ranks do together has the bits of one process.

#include "train/distributed/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/graph/op.h"
#include "tests/train/config/parsed.h"
#include "tests/train/distributed/thread_ranks.h"
#include "tests/train/run/observed_run.h"
#include "train/run/experiment.h"
#include "train/run/start_together.h"
#include "train/run/train.h"
#include "train/run/trainer.h"

namespace qkv {
namespace {

using testing::HasSubstr;

// All that there is to know of a run after some steps.
struct Outcome {
  std::vector<double> numbers;  // losses, norms, details, evaluations
  std::vector<std::vector<double>> weights, state;

  bool operator==(const Outcome&) const = default;
};

Outcome lead(Trainer& trainer, int64_t steps) {
  Outcome outcome;
  for (int64_t i = 0; i < steps; ++i) {
    const absl::StatusOr<StepResult> step = trainer.step();
    EXPECT_TRUE(step.ok()) << step.status();
    if (!step.ok()) return outcome;
    outcome.numbers.insert(outcome.numbers.end(), {step->loss, step->grad_norm});
    if (!step->detail) continue;
    for (const auto& [name, number] : detail_numbers(*step->detail)) {
      outcome.numbers.push_back(number);
    }
  }
  const Evaluation evaluation = *trainer.evaluate(Split::kValidation, {}, tell_nobody);
  outcome.numbers.insert(outcome.numbers.end(), {evaluation.loss, evaluation.token_accuracy,
                                                 static_cast<double>(evaluation.tokens)});
  for (const int64_t count : evaluation.confusion) outcome.numbers.push_back(double(count));
  outcome.numbers.push_back(double(trainer.optimizer().steps()));
  for (const NamedState& state : trainer.optimizer().state()) {
    outcome.state.push_back(state.array.to_vector());
  }
  for (const NamedParameter& p : parameters(trainer.evaluated_model())) {
    outcome.weights.push_back(p.tensor.to_vector());
  }
  return outcome;
}

Outcome trained(const Config& config, int ranks, int64_t steps = 2) {
  const std::unique_ptr<Dataset> dataset = *make_dataset(config);
  if (ranks == 1) {
    Trainer trainer(config, *dataset);
    return lead(trainer, steps);
  }
  Outcome outcome;
  ThreadRanks(ranks).run([&](Ranks& self) {
    Trainer trainer(config, *dataset, &self);
    if (!self.leads()) return trainer.follow({});
    outcome = lead(trainer, steps);
    Trainer::end_run(self);
  });
  return outcome;
}

Config sharded(std::vector<std::string> overrides) {
  // So many shards and evaluated batches that another order of sums gives other bits.
  for (const char* more : {"train.shards=8", "train.batch_size=16", "train.eval_batch_size=1",
                           "model.dropout=0.2", "train.precision=f32", "train.detail_interval=2"}) {
    overrides.insert(overrides.begin(), more);
  }
  return parsed(kSmallRun, overrides);
}

class RanksTest : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(RanksTest, TrainToTheBitsOfOneProcess) {
  const Config config = sharded(GetParam());
  const Outcome one = trained(config, 1);
  for (const int ranks : {2, 3, 4}) EXPECT_TRUE(trained(config, ranks) == one) << ranks;
}

// The large model's norms are sums of many pieces.
INSTANTIATE_TEST_SUITE_P(EveryKind, RanksTest,
                         testing::ValuesIn(std::vector<std::vector<std::string>>{
                             {},
                             {"optimizer.kind=sgd", "optimizer.momentum=0.9"},
                             {"optimizer.kind=adam"},
                             {"optimizer.grad_clip=0.01", "train.average=0.9"},
                             {"train.precision=f64"},
                             {"train.precision=f64", "model.d_model=256", "model.d_ff=1024",
                              "train.detail_interval=1"},
                             {"train.precision=bf16"},
                             {"train.accumulation_steps=2"},
                             {"model.mixer=convolution"},
                             {"model.mixer=recurrence", "model.cell=lstm"},
                             {"model.mixer=learned"},
                             {"model.mixer=uniform"},
                             {"model.kind=encoder_decoder"},
                             {"data.task=parity", "model.kind=classifier"},
                             {"data.task=parity", "model.tie_embeddings=true"}}));

// What a sum of gradients and the weights that come of it need at least: the difference that a
// second step makes.
TEST(RanksTest, MoveEachByteTheLeastNumberOfTimes) {
  const Config config = sharded({});
  const std::unique_ptr<Dataset> dataset = *make_dataset(config);
  for (const int ranks : {2, 4}) {
    int64_t bytes_of_parameters = 0;
    const auto sent = [&](int steps) {
      ThreadRanks all(ranks);
      all.run([&](Ranks& self) {
        Trainer trainer(config, *dataset, &self);
        if (!self.leads()) return trainer.follow({});
        for (int i = 0; i < steps; ++i) EXPECT_TRUE(trainer.step().ok());
        Trainer::end_run(self);
        bytes_of_parameters = 4 * parameter_count(trainer.trained_parameters());
      });
      int64_t bytes = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        bytes += all.bytes_sent(rank, Ranks::kGradients) + all.bytes_sent(rank, Ranks::kWeights);
      }
      return bytes;
    };
    const int64_t a_step = sent(2) - sent(1);
    EXPECT_EQ(a_step, 2 * (ranks - 1) * bytes_of_parameters);
  }
}

// By op of a rank's backward walks, the bytes of gradients that it has sent after it.
class SentBesideWalk final : public Observer {
 public:
  SentBesideWalk(const ThreadRanks& all, int rank) : all_(all), rank_(rank) {}
  void after_backward(const Op&, const Tensor&, TensorSpan) override {
    sent_.push_back(all_.bytes_sent(rank_, Ranks::kGradients));
  }
  const std::vector<int64_t>& sent() const { return sent_; }

 private:
  const ThreadRanks& all_;
  int rank_;
  std::vector<int64_t> sent_;
};

// The same of rank 1 of 2 after some steps, and the bytes that it sent in the end.
std::pair<std::vector<int64_t>, int64_t> sent_by_rank_1(const Config& config, int64_t steps) {
  const std::unique_ptr<Dataset> dataset = *make_dataset(config);
  std::vector<int64_t> sent;
  ThreadRanks all(2);
  all.run([&](Ranks& self) {
    Trainer trainer(config, *dataset, &self);
    if (self.leads()) {
      for (int64_t i = 0; i < steps; ++i) static_cast<void>(trainer.step());
      return Trainer::end_run(self);
    }
    const SentBesideWalk walk(all, 1);
    trainer.follow({});
    sent = walk.sent();
  });
  return {sent, all.bytes_sent(1, Ranks::kGradients)};
}

TEST(RanksTest, GradientsLeaveDuringTheBackwardWalk) {
  const auto [sent, in_the_end] =
      sent_by_rank_1(sharded({"model.d_model=128", "model.num_layers=2", "model.d_ff=512"}), 1);
  const auto first = std::ranges::find_if(sent, [](int64_t bytes) { return bytes > 0; });
  // The gradients of the last of four shards complete the sum: in the last quarter of all ops.
  EXPECT_LT(first - sent.begin(), std::ssize(sent) * 15 / 16);
  EXPECT_GT(sent.back(), in_the_end * 8 / 10);
}

TEST(RanksTest, OnlyTheFirstLooksForTheOpWhoseNumbersAreNotFinite) {
  const auto ops = [](const char* learning_rate) {
    return sent_by_rank_1(sharded({learning_rate, "optimizer.grad_clip=0"}), 2).first.size();
  };
  EXPECT_EQ(ops("optimizer.learning_rate=1e30"), ops("optimizer.learning_rate=1e-3"));
}

TEST(RanksTest, AStopOfAnyRankIsHeardByTheOneThatLeads) {
  const Config config = sharded({});
  const std::unique_ptr<Dataset> dataset = *make_dataset(config);
  std::stop_source source;
  source.request_stop();
  ThreadRanks(2).run([&](Ranks& self) {
    Trainer trainer(config, *dataset, &self);
    if (!self.leads()) return trainer.follow(source.get_token());
    EXPECT_TRUE(trainer.step()->stop);
    Trainer::end_run(self);
  });
}

// A rank may still read when all are told to stop, and rank 0 has read.
TEST(RanksTest, AStopOfAnyRankBeforeTheRunIsSaid) {
  const std::string folder = testing::TempDir() + "/stop_before_the_run";
  std::filesystem::create_directories(folder);
  write_data(folder, 1);
  const LoadedConfig loaded = {
      .config = sharded(overrides_of("text", folder)), .origins = {}, .notes = {}};
  std::stop_source source;
  source.request_stop();
  std::FILE* const output = std::tmpfile();
  ThreadRanks(2).run([&](Ranks& self) {
    const absl::Status status =
        run_training(loaded, {.out = folder + "/run",
                              .stop = self.leads() ? std::stop_token() : source.get_token(),
                              .output = output,
                              .ranks = &self})
            .status();
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
  });
  EXPECT_FALSE(std::filesystem::exists(folder + "/run"));
  std::rewind(output);
  std::string said(1000, '\0');
  said.resize(std::fread(said.data(), 1, said.size(), output));
  std::fclose(output);
  EXPECT_THAT(said, HasSubstr("rank 1 (on host): the reading of "));
  EXPECT_THAT(said, HasSubstr("nothing was written"));
}

// What rank 0 says where rank 1 is another.
std::string refusal(const absl::Status& other, const RankIdentity& identity) {
  std::string said;
  const RankIdentity first = {.program = "qkv 1\nby g++", .config = "a = 1\nb = 2", .data = "x"};
  ThreadRanks(2).run([&](Ranks& self) {
    const absl::Status status = self.leads() ? start_together(self, absl::OkStatus(), first)
                                             : start_together(self, other, identity);
    if (self.leads()) said = std::string(status.message());
    EXPECT_EQ(status.ok(), self.leads() && said.empty()) << status;
  });
  return said;
}

TEST(RanksTest, BeginOnlyWhereAllAreReadyAndAlike) {
  const RankIdentity same = {.program = "qkv 1\nby g++", .config = "a = 1\nb = 2", .data = "x"};
  EXPECT_EQ(refusal(absl::NotFoundError("there is no c.toml"), {}),
            "rank 1 (on host): there is no c.toml");
  RankIdentity other = same;
  other.config = "a = 1\nb = 3";
  EXPECT_EQ(refusal(absl::OkStatus(), other),
            "all ranks need the same config: rank 1 (on host) has b = 3, but rank 0 has b = 2");
  other = same;
  other.program = "qkv 2\nby g++";
  EXPECT_THAT(refusal(absl::OkStatus(), other), HasSubstr("the same program: rank 1"));
  other = same;
  other.data = "y";
  EXPECT_THAT(refusal(absl::OkStatus(), other), HasSubstr("the same data: rank 1"));
}

}  // namespace
}  // namespace qkv
