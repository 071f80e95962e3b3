#include "apps/cluster/train_together.h"

#include <cstdlib>
#include <exception>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/cluster/gradient_exchange.h"
#include "apps/cluster/start_together.h"
#include "cli/show.h"
#include "framework/core/clock.h"
#include "framework/core/text/utf8.h"
#include "framework/graph/middleware.h"

namespace qkv {
namespace {

// Long work consists of ops, and a single op is short.
class LifeSigns final : public Middleware {
 public:
  explicit LifeSigns(Ranks& ranks) : ranks_(ranks) {}
  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override {
    ranks_.tell_alive();
    return next(op, x);
  }
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override {
    ranks_.tell_alive();
    return next(op, saved, dy);
  }

 private:
  Ranks& ranks_;
};

[[noreturn]] void abort_ranks(Ranks& ranks, const std::string& what) {
  say_error(printable(absl::StrCat(ranks.name(), ": ", what)));
  ranks.abort(1);
  std::_Exit(1);  // for the compiler, which does not know of that
}

absl::Status check_shards(const Config& config, const Ranks& ranks, bool resume) {
  const int64_t shards = config.train.shards;
  if (ranks.size() <= shards) return absl::OkStatus();
  return invalid_argument(
      "\"train.shards\" is ", shards, ", too few for ", ranks.size(),
      " ranks: each needs at least one",
      resume ? absl::StrCat("; a run keeps its shards, so this one continues with at most ", shards,
                            shards == 1 ? " rank" : " ranks")
             : "");
}

// Whether there is a step, or the run has ended: rank 0 decides.
bool agree_on_step(Ranks& ranks, bool step = false) {
  ranks.broadcast(bytes_of(step));
  return step;
}

// The weights and the optimizer become those of rank 0.
void take_over(Ranks& ranks, Trainer& trainer) {
  std::vector<Array> arrays;
  for (const NamedParameter& p : parameters(trainer.evaluated_model())) {
    arrays.push_back(p.tensor.array());
  }
  for (const NamedState& state : trainer.optimizer().state()) arrays.push_back(state.array);
  for (Array& array : arrays) {
    ranks.broadcast({static_cast<std::byte*>(array.mutable_raw()), array.bytes()});
  }
  int64_t steps = trainer.steps_made();
  ranks.broadcast(bytes_of(steps));
  trainer.optimizer().set_steps(steps);
}

// So many seconds the weights and the state of the optimizer may take to be read or written.
double seconds_for_files(const Trainer& trainer) {
  constexpr double kBytesPerSecond = 30e6, kArrays = 4;
  double bytes = 0;
  for (const NamedParameter& p : trainer.trained_parameters()) {
    bytes += static_cast<double>(p.tensor.array().bytes());
  }
  return kArrays * bytes / kBytesPerSecond;
}

absl::StatusOr<RunOutcome> lead(PreparedRun prepared, const Config& config,
                                TrainingRunOptions options, Ranks& ranks) {
  const auto stop = std::make_unique<std::stop_source>();  // asked for on any rank
  const std::stop_callback pass_on(options.stop, [&stop] { stop->request_stop(); });
  options.stop = stop->get_token();
  bool begun = false, in_step = false;
  options.differentiate = [&](Trainer& trainer, const ShardedBatch& batch) {
    in_step = true;
    agree_on_step(ranks, true);
    if (!begun) take_over(ranks, trainer);
    begun = true;
    SharedGradients gradients = differentiate_together(batch, stop->stop_requested(), ranks);
    in_step = false;
    if (gradients.stop) stop->request_stop();
    return std::move(gradients.whole);
  };
  prepared.notes.push_back(
      absl::StrCat(ranks.size(), " ranks share the ", config.train.shards, " shards of a batch"));
  absl::StatusOr<RunOutcome> outcome = train_prepared(std::move(prepared), config, options);
  if (in_step) abort_ranks(ranks, std::string(outcome.status().message()));
  agree_on_step(ranks, false);
  return outcome;
}

void follow(const Dataset& dataset, Config config, const std::stop_token& stop, Ranks& ranks) {
  config.train.detail_interval = 0;  // rank 0 measures
  Trainer trainer(config, dataset, [&](Trainer&, const ShardedBatch& batch) {
    return differentiate_together(batch, stop.stop_requested(), ranks).whole;
  });
  ranks.allow_silence(seconds_for_files(trainer));
  for (bool begun = false; agree_on_step(ranks); begun = true) {
    if (!begun) take_over(ranks, trainer);
    static_cast<void>(trainer.step());  // rank 0 reports the error
  }
}

absl::StatusOr<RunOutcome> train(const absl::StatusOr<LoadedConfig>& loaded,
                                 const TrainingRunOptions& options, const std::string& program,
                                 Ranks& ranks) {
  const Clock::time_point start = Clock::now();
  absl::StatusOr<PreparedRun> prepared =
      loaded.ok() ? prepare_run(*loaded, options) : absl::StatusOr<PreparedRun>(loaded.status());
  absl::Status ready = prepared.status();
  RankIdentity identity;
  if (ready.ok()) {
    ready = check_shards(loaded->config, ranks, options.resume);
    identity = identity_of(program, loaded->config, *prepared->dataset);
  }
  // The others may need longer to read the data.
  ranks.allow_silence(3 * seconds_since(start));
  absl::Status together = start_together(ranks, ready, identity);
  if (!together.ok()) return ranks.leads() ? cannot_begin(std::move(together), options) : together;
  const Config& config = loaded->config;
  const LifeSigns alive(ranks);
  if (!ranks.leads()) {
    follow(*prepared->dataset, config, options.stop, ranks);
    return RunOutcome::kFinished;
  }
  ranks.allow_silence(0);
  return lead(*std::move(prepared), config, options, ranks);
}

}  // namespace

absl::StatusOr<RunOutcome> train_together(const absl::StatusOr<LoadedConfig>& loaded,
                                          TrainingRunOptions options, const std::string& program,
                                          Ranks& ranks) {
  options.threads = ranks.threads();
  if (ranks.size() == 1) {
    if (!loaded.ok()) return loaded.status();
    return run_training(*loaded, options);
  }
  try {
    return train(loaded, options, program, ranks);
  } catch (const std::exception& error) {
    abort_ranks(ranks, error.what());
  }
}

}  // namespace qkv
