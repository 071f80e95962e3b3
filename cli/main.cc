#include "cli/command_line.h"
#include "cli/verbs.h"
#include "cli/verbs_of_apps.h"
#ifdef QKV_WITH_MPI
#include "train/mpi/mpi_ranks.h"
#endif

int main(int argc, char** argv) {
#ifdef QKV_WITH_MPI
  qkv::set_start_ranks(qkv::start_mpi_ranks);
#endif
  return qkv::run_command_line(argc, argv,
                               {.verbs = qkv::kVerbs, .verbs_elsewhere = qkv::verbs_of_apps()});
}
