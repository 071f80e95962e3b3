#include "train/mpi/mpi_ranks.h"

// Not the bindings for C++, which MPI no longer has.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace qkv {
namespace {

std::string describe(int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  return std::string(text, static_cast<size_t>(length));
}

void check(int error, const std::string& what) {
  if (error != MPI_SUCCESS) throw RanksError(absl::StrCat("MPI: ", what, ": ", describe(error)));
}

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// Where mpirun binds ranks to cores, those of other ranks are no part of this one's share; where it
// does not, all ranks of a machine share all of its cores.
int share_of_cores() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof(mine), &mine) != 0) return 0;
  MPI_Comm machine = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine),
        "the ranks of this machine");
  int ranks = 1;
  MPI_Comm_size(machine, &ranks);
  std::vector<cpu_set_t> all(static_cast<size_t>(ranks));
  check(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all.data(), sizeof(mine), MPI_BYTE, machine),
        "the cores of this machine's ranks");
  MPI_Comm_free(&machine);
  const auto sharing = std::ranges::count_if(
      all, [&](const cpu_set_t& other) { return CPU_EQUAL(&mine, &other) != 0; });
  return std::max(1, CPU_COUNT(&mine) / static_cast<int>(sharing));
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() : Ranks(world_rank(), world_size()) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    threads_ = share_of_cores();
  }
  ~MpiRanks() override { MPI_Finalize(); }

  Message send(int to, int subject, std::span<const std::byte> bytes) override {
    const auto [message, request] = new_message();
    check(MPI_Isend(bytes.data(), count_of(bytes.size()), MPI_BYTE, to, subject, MPI_COMM_WORLD,
                    request),
          absl::StrCat("sending to rank ", to));
    return message;
  }

  Message receive(int from, int subject, std::span<std::byte> bytes) override {
    const auto [message, request] = new_message();
    check(MPI_Irecv(bytes.data(), count_of(bytes.size()), MPI_BYTE, from, subject, MPI_COMM_WORLD,
                    request),
          absl::StrCat("receiving from rank ", from));
    return message;
  }

  void poll(Message& message) override {
    if (message.done()) return;
    int done = 0;
    check(MPI_Test(&requests_[static_cast<size_t>(message.slot)], &done, MPI_STATUS_IGNORE),
          "a message");
    if (!done) return;
    free_.push_back(message.slot);
    message.slot = -1;
  }

  [[noreturn]] void abort(int exit_status) override {
    MPI_Abort(MPI_COMM_WORLD, exit_status);
    std::_Exit(exit_status);
  }

  std::string host() const override {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(name, &length);
    return std::string(name, static_cast<size_t>(length));
  }
  int threads() const override { return threads_; }
  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole(text, static_cast<size_t>(length));
    return whole.substr(0, whole.find('\n'));
  }

 private:
  static int count_of(size_t bytes) {
    if (bytes <= INT_MAX) return static_cast<int>(bytes);
    throw RanksError(absl::StrCat("MPI: a message of ", bytes, " bytes is too long"));
  }

  std::pair<Message, MPI_Request*> new_message() {
    if (free_.empty()) {
      free_.push_back(std::ssize(requests_));
      requests_.push_back(MPI_REQUEST_NULL);
    }
    const int64_t slot = free_.back();
    free_.pop_back();
    return {Message{slot}, &requests_[static_cast<size_t>(slot)]};
  }

  int threads_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<int64_t> free_;  // of requests_
};

}  // namespace

absl::StatusOr<std::unique_ptr<Ranks>> start_mpi_ranks() {
  int provided = 0;
  if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
      error != MPI_SUCCESS) {
    return absl::UnavailableError(absl::StrCat("MPI does not start: ", describe(error)));
  }
  try {
    return std::make_unique<MpiRanks>();
  } catch (const RanksError& error) {
    return absl::UnavailableError(error.what());
  }
}

}  // namespace qkv
