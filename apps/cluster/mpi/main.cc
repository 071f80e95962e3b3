// qkv with MPI: the plain program, but that the ranks of mpirun train one run together.

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "apps/cluster/mpi/mpi_ranks.h"
#include "apps/cluster/train_together.h"
#include "cli/command_line.h"
#include "cli/train.h"
#include "train/watch/interrupt.h"

namespace {

using namespace qkv;

absl::Status run_train_together(const std::string& argument, const GivenOptions& given) {
  const InterruptGuard interrupt;  // before MPI starts threads
  const absl::StatusOr<std::unique_ptr<Ranks>> ranks = start_mpi_ranks();
  if (!ranks.ok()) return ranks.status();
  const absl::Status status = train_as_given(
      argument, given, interrupt.token(),
      [&](const absl::StatusOr<LoadedConfig>& loaded, const TrainingRunOptions& options) {
        return train_together(loaded, options, version_text(), **ranks);
      });
  return (*ranks)->leads() ? status : absl::OkStatus();  // rank 0 tells the result
}

Verb train_together_verb() {
  Verb verb = train_verb();
  verb.run = run_train_together;
  return verb;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span book = verbs_of_book();
  std::vector verbs(book.begin(), book.end());
  std::ranges::replace(verbs, &train_verb, &train_together_verb);
  return run_command_line(argc, argv, {.verbs = verbs, .verbs_elsewhere = verbs_of_apps()});
}
