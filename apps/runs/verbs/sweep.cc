#include "apps/runs/sweep/sweep.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "apps/runs/sweep/sweep_table.h"
#include "cli/kit.h"

namespace qkv {
namespace {

// Which of several processes this one is, where mpirun or srun has started them for one sweep. They
// need no messages: each takes the next run whose folder no other process holds, so that one that
// dies leaves its runs to the others.
struct SweepRank {
  int64_t rank = 0;              // 0 talks to a person
  int64_t ranks_on_machine = 1;  // which share its cores
};

// The first of these variables that holds a number.
int64_t number_in(std::initializer_list<const char*> variables, int64_t otherwise) {
  for (const char* name : variables) {
    const char* const value = std::getenv(name);
    int64_t number = 0;
    if (value && absl::SimpleAtoi(value, &number) && number >= 0) return number;
  }
  return otherwise;
}

// The rank in the environment of Open MPI, the PMI of MPICH and Slurm, or Slurm alone.
SweepRank sweep_rank() {
  const int64_t on_machine = number_in({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 1);
  return {.rank = number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, 0),
          .ranks_on_machine = on_machine > 0 ? on_machine : 1};
}

void add_sweep_options(OptionList& options) {
  options.set(
      "Values to try, between commas: --set optimizer.learning_rate=1e-4,1e-3; several --set "
      "multiply. A comma in brackets or quotes belongs to a value: "
      "--set optimizer.betas=[0.9,0.95],[0.9,0.99] has two");
  options.integer(
      "seeds", "N",
      "Runs of each combination, with the config's seed and those after it; default: 1");
  options.integer("jobs", "N", "Runs at a time, which share the cores; default: one for each core");
  options.text("out", "DIR", "Folder of the runs; by default runs/NAME-sweep");
  options.json("the results");
}

absl::Status run_sweep_verb(const std::string& argument, const GivenOptions& given) {
  RETURN_IF_ERROR(check_json(given, "{\n  \"sweep\": "));
  ASSIGN_OR_RETURN(const SweepPlan plan, plan_sweep({.config = argument,
                                                     .settings = given.set(),
                                                     .seeds = given.integer_if_given("seeds"),
                                                     .out = given.text("out")}));
  const SweepRank self = sweep_rank();
  std::FILE* const tell = self.rank > 0        ? std::fopen("/dev/null", "w")
                          : prints_json(given) ? stderr
                                               : stdout;
  if (!tell) return absl::ErrnoToStatus(errno, "/dev/null");
  ASSIGN_OR_RETURN(const SweepOutcome outcome,
                   run_sweep(plan, {.jobs = given.integer_if_given("jobs"),
                                    .tell = tell,
                                    .ranks_on_machine = self.ranks_on_machine}));
  if (self.rank > 0) return absl::OkStatus();  // rank 0 tells the results
  const SweepResults results = sweep_results(plan, outcome);
  if (!prints_json(given)) print("\n");
  const SweepReport report = sweep_report(plan, outcome, results);
  RETURN_IF_ERROR(show_or_write(given, report.text, report.json));
  if (!results.best) return absl::DataLossError("no run of the sweep was finished");
  const auto failed =
      std::ranges::count_if(outcome, [](const std::string& error) { return !error.empty(); });
  if (failed == 0) return absl::OkStatus();
  return data_loss(failed, " of ", outcome.size(), " runs failed; the same command tries only ",
                   failed == 1 ? "that one" : "those", " again");
}

}  // namespace

Verb sweep_verb() {
  return {{"sweep", "CONFIG", "trains all combinations of values, with several seeds"},
          add_sweep_options,
          run_sweep_verb};
}

}  // namespace qkv
