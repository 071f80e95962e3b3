#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace qkv {

// What keeps ranks from going on together: an error of MPI, a rank that is gone.
class RanksError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The processes that train one run, numbered 0 … size() - 1: ranks. Rank 0 leads: it says what
// comes next, writes the folder of the run and talks to a person. Where there is one process, it is
// rank 0 of 1, and sends nothing.
class Ranks {
 public:
  // A message that is on its way; its bytes stay where they are until it is done.
  struct Message {
    int64_t slot = -1;  // of those that are on their way; -1: it is done
    bool done() const { return slot < 0; }
  };
  // What a message is about. Messages of one subject between two ranks arrive in order.
  enum Subject : int { kLife, kOrders, kTexts, kWeights, kState, kSums, kEvaluation, kGradients };

  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool leads() const { return rank_ == 0; }

  // Begin to send or to receive. kGradients + n is the subject of bucket n. Throw RanksError. These
  // and poll() may be called by one thread while another one is in them.
  virtual Message send(int to, int subject, std::span<const std::byte> bytes) = 0;
  virtual Message receive(int from, int subject, std::span<std::byte> bytes) = 0;
  // Lets messages move on, and notes whether this one is done.
  virtual void poll(Message& message) = 0;
  // Ends all ranks at once, with this exit status.
  [[noreturn]] virtual void abort(int exit_status) = 0;

  // Whether the others take part in something that rank 0 has begun: until it is over, they hear no
  // other order, and an error of rank 0 can only abort() them.
  bool order_is_running = false;

  // Every wait for another rank is one of these. It has no limit: train/distributed/rank_watch.h
  // looks whether it can end.
  void wait(Message& message);
  void wait_all(std::span<Message> messages);

  // From rank 0 to all, along a tree of ranks.
  void broadcast(std::span<std::byte> bytes, Subject subject = kOrders);
  // The texts of all ranks by rank, on rank 0; nothing elsewhere.
  std::vector<std::string> gather(const std::string& text);
  // The parts of all ranks, one after the other, on every rank. `counts`: how many each has.
  std::vector<double> gather_on_all(std::span<const double> mine, std::span<const int64_t> counts);

  // Whether a wait is going on, on any thread.
  bool waits() const { return waits_; }
  // How much came from this rank so far, but for signs of life.
  virtual int64_t arrivals(int) const { return 0; }

  // The machine of this rank, and how many threads are its share of the machine's cores.
  virtual std::string host() const { return ""; }
  virtual int threads() const { return 0; }  // 0: all cores
  virtual std::string library() const { return ""; }

 private:
  int rank_, size_;
  std::atomic<bool> waits_ = false;
};

// The bytes of a value or of numbers.
template <class T>
std::span<std::byte> bytes_of(std::span<T> values) {
  return std::as_writable_bytes(values);
}

// How `qkv train` comes by its ranks. The program of MPI says how before anything else; without it
// there is one process, and the result is nothing.
using StartRanks = absl::StatusOr<std::unique_ptr<Ranks>> (*)();
void set_start_ranks(StartRanks start);
absl::StatusOr<std::unique_ptr<Ranks>> start_ranks();

}  // namespace qkv
