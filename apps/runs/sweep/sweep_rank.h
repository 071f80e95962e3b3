#pragma once

#include <cstdint>

namespace qkv {

// Which of several processes this one is, where mpirun or srun has started them for one sweep. They
// need no messages: each takes the next run whose folder no other process holds, so that one that
// dies leaves its runs to the others.
struct SweepRank {
  int64_t rank = 0;              // 0 talks to a person
  int64_t ranks_on_machine = 1;  // which share its cores
};

// What the environment says.
SweepRank sweep_rank();

}  // namespace qkv
