// qkv with MPI: the plain program, but that the ranks of mpirun train one run together.

// Not the bindings for C++, which MPI no longer has.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/cluster/ranks.h"
#include "apps/cluster/train_together.h"
#include "cli/command_line.h"
#include "cli/train.h"
#include "framework/core/clock.h"
#include "framework/core/status.h"
#include "framework/core/text/terminal.h"
#include "train/watch/interrupt.h"

namespace qkv {
namespace {

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

// Where mpirun binds ranks to cores, those of other ranks do not belong to this one's share; where
// it does not, all ranks of a machine share all of its cores.
int share_of_cores() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof(mine), &mine) != 0) return 0;
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int ranks = 1;
  MPI_Comm_size(machine, &ranks);
  std::vector<cpu_set_t> all(static_cast<size_t>(ranks));
  MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all.data(), sizeof(mine), MPI_BYTE, machine);
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
  MPI_Allgather(own.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, hosts.data(), MPI_MAX_PROCESSOR_NAME,
                MPI_CHAR, MPI_COMM_WORLD);
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

// An error of MPI ends all ranks, with words of its own.
class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(double patience)
      : Ranks(world_rank(), world_size()),
        threads_(share_of_cores()),
        names_(names_of_ranks()),
        patience_(patience),
        silence_(names_.size()),
        signs_(names_.size(), MPI_REQUEST_NULL) {}
  ~MpiRanks() override {
    const LimitOnMpi limit(patience_, "error: MPI does not end; all is written\n");
    MPI_Barrier(MPI_COMM_WORLD);
    receive_signs();
    MPI_Finalize();
  }

  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    std::vector<Transfer> open;
    for (const Incoming& message : in) {
      for_pieces(message.bytes, [&, from = message.from](std::byte* piece, int count) {
        open.push_back({from, MPI_REQUEST_NULL});
        MPI_Irecv(piece, count, MPI_BYTE, from, kData, MPI_COMM_WORLD, &open.back().request);
      });
    }
    for (const Outgoing& message : out) {
      for_pieces(message.bytes, [&, to = message.to](const std::byte* piece, int count) {
        open.push_back({to, MPI_REQUEST_NULL});
        MPI_Isend(piece, count, MPI_BYTE, to, kData, MPI_COMM_WORLD, &open.back().request);
      });
    }
    auto last = Clock::now(), last_done = last;
    for (int64_t tries = 0; !open.empty(); ++tries) {
      const size_t done_now = std::erase_if(open, [&](Transfer& transfer) {
        int done = 0;
        MPI_Test(&transfer.request, &done, MPI_STATUS_IGNORE);
        if (done) lives(transfer.rank);
        return done != 0;
      });
      // A process that was stopped, and continues, has not waited all this time.
      wait_for(open, std::min(1.0, seconds_since(last)));
      last = Clock::now();
      if (done_now > 0) last_done = last;
      // A rank that shares its core with another one yields to it, and does not keep a core busy
      // while rank 0 evaluates.
      if (seconds_since(last_done) > 0.1) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      } else if (tries > 64) {
        std::this_thread::yield();
      }
    }
  }

  void tell_alive() override {
    if (seconds_since(last_sign_) < std::min(1.0, patience_ / 10)) return;
    last_sign_ = Clock::now();
    receive_signs();
    for (int other = 0; other < size(); ++other) {
      MPI_Request& sign = signs_[other];
      int sent = 1;  // the last one
      MPI_Test(&sign, &sent, MPI_STATUS_IGNORE);
      if (other == rank() || !sent) continue;
      MPI_Isend(nullptr, 0, MPI_BYTE, other, kLife, MPI_COMM_WORLD, &sign);
    }
  }

  void allow_silence(double seconds) override { allowed_ = seconds; }

  [[noreturn]] void abort(int exit_status) override {
    const LimitOnMpi limit(3, "");
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
  enum Tag : int { kData, kLife };
  struct Transfer {
    int rank;
    MPI_Request request;
  };

  // A long message travels in pieces; each shows that its sender lives.
  template <class Byte, class F>
  static void for_pieces(std::span<Byte> bytes, const F& f) {
    constexpr size_t kPiece = size_t{1} << 20;
    for (size_t place = 0; place == 0 || place < bytes.size(); place += kPiece) {
      f(bytes.data() + place, static_cast<int>(std::min(kPiece, bytes.size() - place)));
    }
  }

  void lives(int rank) { silence_[rank] = 0; }

  void receive_signs() {
    while (true) {
      int is_there = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, kLife, MPI_COMM_WORLD, &is_there, &status);
      if (!is_there) return;
      MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, kLife, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      lives(status.MPI_SOURCE);
    }
  }

  // These seconds have passed in a wait for these.
  void wait_for(const std::vector<Transfer>& open, double seconds) {
    tell_alive();
    receive_signs();
    std::vector<bool> waited_for(names_.size());
    for (const Transfer& transfer : open) waited_for[transfer.rank] = true;
    // Where the network is down all notice it. Rank 0, which reports to a person, is the first.
    const double patience = patience_ + allowed_;
    for (int other = 0; other < size(); ++other) {
      double& silence = silence_[other];
      if (waited_for[other]) silence += seconds;
      if (silence <= patience * (1 + 0.1 * std::min(rank(), 2))) continue;
      std::fprintf(
          stderr,
          "%serror: %s has given no sign of life for %.3g s: it is stopped, or its machine "
          "or the network is down\nall ranks end; the last checkpoint is whole, and "
          "--resume continues\n",
          is_terminal(stdout) ? "\r\x1b[K" : "",  // over the line that says how far it is
          names_[other].c_str(), patience);
      abort(1);
    }
  }

  const int threads_;
  const std::vector<std::string> names_;
  const double patience_;           // in seconds
  double allowed_ = 0;              // more of them
  std::vector<double> silence_;     // by rank: seconds that were waited for a sign of life
  std::vector<MPI_Request> signs_;  // by rank to which the last one goes
  Clock::time_point last_sign_ = {};
};

// Starts MPI, by which mpirun or srun has started this process and others; without these it is rank
// 0 of 1. To be called once, on the thread that uses the ranks, after signals are blocked there:
// MPI starts threads. The returned object ends MPI, where all ranks are at their end.
absl::StatusOr<std::unique_ptr<Ranks>> start_mpi_ranks() {
  ASSIGN_OR_RETURN(const double patience, patience_with_ranks());
  const LimitOnMpi limit(
      patience, "error: MPI does not start: other ranks are out of reach; nothing began\n");
  MPI_Init(nullptr, nullptr);
  return std::make_unique<MpiRanks>(patience);
}

absl::Status run_train_together(const std::string& argument, const GivenOptions& given) {
  const InterruptGuard interrupt;  // before MPI starts threads
  ASSIGN_OR_RETURN(const std::unique_ptr<Ranks> ranks, start_mpi_ranks());
  const absl::Status status = train_as_given(
      argument, given, interrupt.token(),
      [&](const absl::StatusOr<LoadedConfig>& loaded, const TrainingRunOptions& options) {
        return train_together(loaded, options, version_text(), *ranks);
      });
  return ranks->leads() ? status : absl::OkStatus();  // rank 0 tells the result
}

Verb train_together_verb() {
  Verb verb = train_verb();
  verb.run = run_train_together;
  return verb;
}

}  // namespace
}  // namespace qkv

int main(int argc, char** argv) {
  using namespace qkv;
  const std::span book = verbs_of_book();
  std::vector verbs(book.begin(), book.end());
  std::ranges::replace(verbs, &train_verb, &train_together_verb);
  return run_command_line(argc, argv, {.verbs = verbs, .verbs_elsewhere = verbs_of_apps()});
}
