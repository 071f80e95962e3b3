#include "train/mpi/mpi_ranks.h"

// Not the bindings for C++, which MPI no longer has.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "train/distributed/rank_watch.h"

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

std::string world_host() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  return std::string(name, static_cast<size_t>(length));
}

// "rank 1 (on node7)", of all ranks.
std::vector<std::string> names_of_ranks() {
  const int size = world_size();
  std::vector<char> hosts(static_cast<size_t>(size) * MPI_MAX_PROCESSOR_NAME);
  std::string own = world_host();
  own.resize(MPI_MAX_PROCESSOR_NAME);
  check(MPI_Allgather(own.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, hosts.data(),
                      MPI_MAX_PROCESSOR_NAME, MPI_CHAR, MPI_COMM_WORLD),
        "the names of the machines");
  std::vector<std::string> names;
  for (int rank = 0; rank < size; ++rank) {
    const char* const host = hosts.data() + static_cast<ptrdiff_t>(rank) * MPI_MAX_PROCESSOR_NAME;
    names.push_back(absl::StrCat("rank ", rank, " (on ", host, ")"));
  }
  return names;
}

// Ends the process where MPI itself hangs, after a sentence.
class LimitOnMpi {
 public:
  LimitOnMpi(double seconds, const char* sentence) {
    said = sentence;
    std::signal(SIGALRM, [](int) {
      static_cast<void>(!::write(STDERR_FILENO, said, std::strlen(said)));
      std::signal(SIGALRM, SIG_DFL);
      std::raise(SIGALRM);  // mpirun ends all ranks where one was ended by a signal
    });
    alarm(static_cast<unsigned>(std::ceil(seconds)));
  }
  ~LimitOnMpi() { alarm(0); }
  LimitOnMpi(const LimitOnMpi&) = delete;
  LimitOnMpi& operator=(const LimitOnMpi&) = delete;

 private:
  static inline const char* said = "";
};

// MPI is called by one thread at a time, the one that trains or the one of the watch.
class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(double patience)
      : Ranks(world_rank(), world_size()),
        names_(names_of_ranks()),
        patience_(patience),
        arrivals_(names_.size()) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    threads_ = share_of_cores();
    watch_.emplace(*this, names_, patience_);
  }
  ~MpiRanks() override {
    watch_.reset();
    const LimitOnMpi limit(patience_, "error: MPI does not end; all is written\n");
    MPI_Finalize();
  }

  Message send(int to, int subject, std::span<const std::byte> bytes) override {
    const std::unique_lock<std::timed_mutex> lock = enter();
    return begin(to, bytes.size(), [&](size_t place, int count, MPI_Request* request) {
      check_peer(to, MPI_Isend(bytes.data() + place, count, MPI_BYTE, to, subject, MPI_COMM_WORLD,
                               request));
    });
  }

  Message receive(int from, int subject, std::span<std::byte> bytes) override {
    const std::unique_lock<std::timed_mutex> lock = enter();
    const Message message =
        begin(from, bytes.size(), [&](size_t place, int count, MPI_Request* request) {
          check_peer(from, MPI_Irecv(bytes.data() + place, count, MPI_BYTE, from, subject,
                                     MPI_COMM_WORLD, request));
        });
    transfers_[static_cast<size_t>(message.slot)].counts = subject != kLife;
    return message;
  }

  void poll(Message& message) override {
    const std::unique_lock<std::timed_mutex> lock = enter();
    if (message.done()) return;
    Transfer& transfer = transfers_[static_cast<size_t>(message.slot)];
    while (transfer.done < transfer.pieces.size()) {
      int done = 0;
      check_peer(transfer.peer,
                 MPI_Test(&transfer.pieces[transfer.done], &done, MPI_STATUS_IGNORE));
      if (!done) return;
      ++transfer.done;
      if (transfer.counts) ++arrivals_[static_cast<size_t>(transfer.peer)];
    }
    free_.push_back(message.slot);
    message.slot = -1;
  }

  int64_t arrivals(int from) const override { return arrivals_[static_cast<size_t>(from)]; }

  [[noreturn]] void abort(int exit_status) override {
    const LimitOnMpi limit(3, "");
    // Whoever is in MPI may be there for ever.
    static_cast<void>(mutex_.try_lock_for(std::chrono::seconds(1)));
    MPI_Abort(MPI_COMM_WORLD, exit_status);
    std::_Exit(exit_status);
  }

  std::string host() const override { return world_host(); }
  int threads() const override { return threads_; }
  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole(text, static_cast<size_t>(length));
    return whole.substr(0, whole.find('\n'));
  }

 private:
  // A long message travels in pieces, each of which shows that its sender lives.
  static constexpr size_t kPiece = size_t{1} << 20;

  struct Transfer {
    int peer = 0;
    bool counts = false;  // what arrives
    std::vector<MPI_Request> pieces;
    size_t done = 0;  // of the pieces
  };

  // Whoever is in MPI soon comes out of it again, or MPI hangs: then the watch could not notice.
  std::unique_lock<std::timed_mutex> enter() {
    std::unique_lock<std::timed_mutex> lock(mutex_, std::defer_lock);
    // One second after the other, as a process that was stopped, and goes on, has not waited.
    for (double seconds = 0; seconds <= patience_ / 4; ++seconds) {
      if (lock.try_lock_for(std::chrono::seconds(1))) return lock;
    }
    std::fprintf(stderr, "error: %s hangs in a call of MPI\n",
                 names_[static_cast<size_t>(rank())].c_str());
    abort(1);
  }

  void check_peer(int peer, int error) const {
    check(error, names_[static_cast<size_t>(peer)] + " is out of reach");
  }

  // `piece(place, count, request)` begins what a piece of the bytes needs.
  template <class Piece>
  Message begin(int peer, size_t bytes, const Piece& piece) {
    if (free_.empty()) {
      free_.push_back(std::ssize(transfers_));
      transfers_.emplace_back();
    }
    const Message message = {free_.back()};
    Transfer& transfer = transfers_[static_cast<size_t>(message.slot)];
    transfer.peer = peer;
    transfer.counts = false;
    transfer.done = 0;
    transfer.pieces.assign(std::max<size_t>(1, (bytes + kPiece - 1) / kPiece), MPI_REQUEST_NULL);
    for (size_t i = 0; i < transfer.pieces.size(); ++i) {
      const size_t place = i * kPiece;
      piece(place, static_cast<int>(std::min(kPiece, bytes - place)), &transfer.pieces[i]);
    }
    free_.pop_back();
    return message;
  }

  int threads_ = 0;
  const std::vector<std::string> names_;
  const double patience_;  // in seconds
  std::timed_mutex mutex_;
  std::deque<Transfer> transfers_;
  std::vector<int64_t> free_;                   // of transfers_
  std::vector<std::atomic<int64_t>> arrivals_;  // by rank
  std::optional<RankWatch> watch_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Ranks>> start_mpi_ranks() {
  const absl::StatusOr<double> patience = patience_with_ranks();
  if (!patience.ok()) return patience.status();
  int provided = 0;
  const LimitOnMpi limit(
      *patience, "error: MPI does not start: other ranks are out of reach; nothing began\n");
  if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
      error != MPI_SUCCESS) {
    return absl::UnavailableError(absl::StrCat("MPI does not start: ", describe(error)));
  }
  if (provided < MPI_THREAD_SERIALIZED) {
    return absl::UnavailableError("this MPI may not be called by more than one thread");
  }
  try {
    return std::make_unique<MpiRanks>(*patience);
  } catch (const RanksError& error) {
    return absl::UnavailableError(error.what());
  }
}

}  // namespace qkv
