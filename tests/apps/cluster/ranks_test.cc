// What ranks do together has the bits of one process.

#include "apps/cluster/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/cluster/gradient_exchange.h"
#include "apps/cluster/start_together.h"
#include "apps/cluster/train_together.h"
#include "tests/train/config/parsed.h"
#include "tests/train/loop/observed_run.h"
#include "train/folder/experiment.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

using testing::HasSubstr;

// Ranks that are threads of one process: what needs no MPI is tested with them.
class ThreadRanks {
 public:
  // Calls f(ranks) on each of `size` threads, and returns when all are through.
  explicit ThreadRanks(int size) : size_(size) {}
  void run(const std::function<void(Ranks&)>& f);

  int64_t bytes_sent() const { return bytes_; }  // by all ranks

 private:
  class Rank;

  int size_;
  std::mutex mutex_;
  std::condition_variable sent_changed_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> sent_;  // from, to
  int64_t bytes_ = 0;
};

class ThreadRanks::Rank final : public Ranks {
 public:
  Rank(int rank, int size, ThreadRanks& all) : Ranks(rank, size), all_(all) {}

  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    std::unique_lock lock(all_.mutex_);
    for (const auto& [to, bytes] : out) {
      all_.sent_[{rank(), to}].emplace_back(bytes.begin(), bytes.end());
      all_.bytes_ += std::ssize(bytes);
    }
    all_.sent_changed_.notify_all();
    for (const auto& [from, bytes] : in) {
      auto& queue = all_.sent_[{from, rank()}];
      all_.sent_changed_.wait(lock, [&queue] { return !queue.empty(); });
      if (queue.front().size() != bytes.size()) std::abort();
      std::ranges::copy(queue.front(), bytes.begin());
      queue.pop_front();
    }
  }

  [[noreturn]] void abort(int) override { std::abort(); }
  std::string host() const override { return "host"; }

 private:
  ThreadRanks& all_;
};

void ThreadRanks::run(const std::function<void(Ranks&)>& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < size_; ++i) {
    threads.emplace_back([&, i] {
      Rank rank(i, size_, *this);
      f(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// All that there is to know of a run after some steps.
struct Outcome {
  std::vector<double> numbers;  // losses, norms, details, evaluations
  std::vector<std::vector<double>> weights, state;

  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(Trainer& trainer, int64_t steps) {
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

// What rank 0 comes to, and so do the others.
Outcome trained(const Config& config, int ranks) {
  const std::unique_ptr<Dataset> dataset = *make_dataset(config);
  std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
  ThreadRanks(ranks).run([&](Ranks& self) {
    Trainer trainer(config, *dataset, [&](Trainer&, const ShardedBatch& batch) {
      return differentiate_together(batch, /*stop=*/false, self).whole;
    });
    outcomes[static_cast<size_t>(self.rank())] = outcome_of(trainer, 2);
  });
  for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome == outcomes[0]);
  return outcomes[0];
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
  const std::unique_ptr<Dataset> dataset = *make_dataset(config);
  Trainer alone(config, *dataset);
  const Outcome one = outcome_of(alone, 2);
  for (const int ranks : {1, 2, 3, 4}) EXPECT_TRUE(trained(config, ranks) == one) << ranks;
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

// What a sum of gradients needs at least, that all ranks have in the end: the difference that a
// second step makes. Besides, each rank tells each other one its loss, and whether to stop.
TEST(RanksTest, MoveEachByteTheLeastNumberOfTimes) {
  const Config config = sharded({});
  const std::unique_ptr<Dataset> dataset = *make_dataset(config);
  for (const int ranks : {2, 4}) {
    int64_t bytes_of_parameters = 0;
    const auto sent = [&](int steps) {
      ThreadRanks all(ranks);
      all.run([&](Ranks& self) {
        Trainer trainer(config, *dataset, [&](Trainer&, const ShardedBatch& batch) {
          return differentiate_together(batch, false, self).whole;
        });
        for (int i = 0; i < steps; ++i) EXPECT_TRUE(trainer.step().ok());
        if (self.leads()) bytes_of_parameters = 4 * parameter_count(trainer.trained_parameters());
      });
      return all.bytes_sent();
    };
    const int64_t a_step = sent(2) - sent(1);
    EXPECT_EQ(a_step, 2 * (ranks - 1) * bytes_of_parameters + ranks * (ranks - 1) * (8 + 1));
  }
}

std::string text_of(std::FILE* file) {
  std::rewind(file);
  std::string text(4000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(RanksTest, AStopOfAnyRankIsHeardByTheOneThatLeads) {
  const LoadedConfig loaded = {.config = sharded({}), .origins = {}, .notes = {}};
  const std::string folder = testing::TempDir() + "/stop_of_a_rank";
  std::filesystem::remove_all(folder);
  std::stop_source source;
  source.request_stop();
  std::FILE* const output = std::tmpfile();
  ThreadRanks(2).run([&](Ranks& self) {
    TrainingRunOptions options = {.out = folder, .output = output};
    if (!self.leads()) options.stop = source.get_token();
    const absl::StatusOr<RunOutcome> outcome = train_together(loaded, options, "qkv 1", self);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(*outcome, self.leads() ? RunOutcome::kInterrupted : RunOutcome::kFinished);
  });
  EXPECT_THAT(text_of(output), HasSubstr("stopped after step 1 of 10; saved"));
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
    TrainingRunOptions options = {.out = folder + "/run", .output = output};
    if (!self.leads()) options.stop = source.get_token();
    const absl::Status status = train_together(loaded, options, "qkv 1", self).status();
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
  });
  EXPECT_FALSE(std::filesystem::exists(folder + "/run"));
  const std::string said = text_of(output);
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

TEST(PatienceTest, IsANumberOfSecondsUpToADays) {
  const auto patience_for = [](const char* said) {
    setenv("QKV_PATIENCE", said, 1);
    const auto patience = patience_with_ranks();
    unsetenv("QKV_PATIENCE");
    return patience.value_or(-1);
  };
  EXPECT_EQ(*patience_with_ranks(), 20);
  EXPECT_EQ(patience_for("0.5"), 0.5);
  EXPECT_EQ(patience_for("86400"), 86400);
  for (const char* wrong : {"", "0", "-1", "86401", "inf", "nan", "soon", "5 s"}) {
    EXPECT_EQ(patience_for(wrong), -1) << wrong;
  }
}

using testing::ElementsAre;

// The order in which a tree is added up, of which these subtrees are known, as a formula.
std::string formula(ShardRange tree, const std::vector<std::pair<ShardRange, std::string>>& known) {
  for (const auto& [subtree, sum] : known) {
    if (subtree == tree) return sum;
  }
  if (tree.size() == 1) return known.empty() ? std::to_string(tree.begin) : "unknown";
  return "(" + formula(tree.left(), known) + "+" + formula(tree.right(), known) + ")";
}

// The same of `ranks` processes that share the shards.
std::string formula(int64_t shards, int64_t ranks) {
  std::vector<std::pair<ShardRange, std::string>> known;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    for (const ShardRange tree : subtrees(shards, part_of(shards, rank, ranks))) {
      known.emplace_back(tree, formula(tree, {}));
    }
  }
  return formula({0, shards}, known);
}

TEST(ShardTreeTest, ATreeIsSplitInTheMiddle) {
  EXPECT_EQ(formula(1, 1), "0");
  EXPECT_EQ(formula(4, 1), "((0+1)+(2+3))");
  EXPECT_EQ(formula(5, 1), "((0+1)+(2+(3+4)))");
}

TEST(ShardTreeTest, TheOrderOfSumsIsThatOfOneProcess) {
  for (int64_t shards = 1; shards <= 20; ++shards) {
    for (int64_t ranks = 2; ranks <= shards; ++ranks) {
      EXPECT_EQ(formula(shards, ranks), formula(shards, 1)) << shards << " " << ranks;
    }
  }
}

TEST(ShardTreeTest, RanksThatArePowersOfTwoHaveOneSubtreeEach) {
  for (const int64_t ranks : {1, 2, 4, 8}) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(subtrees(8, part_of(8, rank, ranks)).size(), 1u);
    }
  }
  EXPECT_THAT(subtrees(8, {2, 5}), ElementsAre(ShardRange{2, 4}, ShardRange{4, 5}));
}

}  // namespace
}  // namespace qkv
