#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "framework/core/status.h"

namespace qkv {

// The processes that train one run, numbered 0 … size() - 1: ranks. Rank 0 leads: it names the next
// step, writes the folder of the run and talks to a person.
class Ranks {
 public:
  struct Outgoing {
    int to;
    std::span<const std::byte> bytes;
  };
  struct Incoming {
    int from;
    std::span<std::byte> bytes;
  };

  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool leads() const { return rank_ == 0; }

  // Sends and receives all of these; those between two ranks arrive in order. This is the one wait
  // for other ranks: where one of them gives no sign of life, it ends all after a sentence.
  virtual void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) = 0;
  // A sign of life for whoever waits; it may be given as often as one likes.
  virtual void tell_alive() {}
  // From now on the others may be silent for that many seconds beyond patience_with_ranks().
  virtual void allow_silence(double /*seconds*/) {}
  // Ends all ranks at once, with this exit status.
  [[noreturn]] virtual void abort(int exit_status) = 0;

  // From rank 0 to all.
  void broadcast(std::span<std::byte> bytes);
  // The texts of all ranks by rank, on rank 0; nothing elsewhere.
  std::vector<std::string> gather(const std::string& text);

  // The machine of this rank, and how many threads are its share of the machine's cores.
  virtual std::string host() const { return ""; }
  virtual int threads() const { return 0; }  // 0: all cores
  virtual std::string library() const { return ""; }
  std::string name() const;  // "rank 1 (on node7)"

 private:
  int rank_, size_;
};

// The seconds for which a rank may give no sign of life: 20, or QKV_PATIENCE.
absl::StatusOr<double> patience_with_ranks();

// The bytes of one value.
template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace qkv
