#include "apps/runs/sweep/sweep_rank.h"

#include <cstdlib>
#include <initializer_list>

#include "absl/strings/numbers.h"

namespace qkv {
namespace {

// The first of these variables that holds a number.
int64_t number_in(std::initializer_list<const char*> variables, int64_t otherwise) {
  for (const char* name : variables) {
    const char* const value = std::getenv(name);
    int64_t number = 0;
    if (value && absl::SimpleAtoi(value, &number) && number >= 0) return number;
  }
  return otherwise;
}

}  // namespace

// Open MPI, the PMI of MPICH and Slurm, and Slurm alone.
SweepRank sweep_rank() {
  const int64_t on_machine = number_in({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 1);
  return {.rank = number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, 0),
          .ranks_on_machine = on_machine > 0 ? on_machine : 1};
}

}  // namespace qkv
