#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "apps/cluster/ranks.h"

namespace qkv {

// Starts MPI, by which mpirun or srun has started this process and others; without these it is rank
// 0 of 1. To be called once, on the thread that uses the ranks, after signals are blocked there:
// MPI starts threads. The returned object ends MPI, where all ranks are at their end.
absl::StatusOr<std::unique_ptr<Ranks>> start_mpi_ranks();

}  // namespace qkv
