// The program qkv where it is built with MPI.

#include "cli/command_line.h"
#include "cli/lesson_titles.h"
#include "cli/verbs.h"
#include "train/mpi/mpi_ranks.h"

int main(int argc, char** argv) {
  qkv::set_start_ranks(qkv::start_mpi_ranks);
  return qkv::run_command_line(argc, argv,
                               {.verbs = qkv::kVerbs,
                                .verbs_elsewhere = qkv::kLessonTitles,
                                .program_elsewhere = "qkv-lessons"});
}
