// link_bench: how long a message takes between two ranks, through what ranks of qkv send with.
// Prints a JSON object: the seconds of a message of 8 bytes, and the bytes a second each way while
// both ranks send 32 MiB; both the best of several.
//
//   tools/two-machines --rate 1gbit mpirun -n 2 build/release/link-bench-openmpi

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "train/mpi/mpi_ranks.h"

namespace qkv {
namespace {

using Clock = std::chrono::steady_clock;

// The best of `rounds` halves of a way there and back.
double seconds_of_message(Ranks& ranks, size_t bytes, int rounds) {
  std::vector<std::byte> message(bytes);
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    for (const int sender : {0, 1}) {
      Ranks::Message way = ranks.rank() == sender ? ranks.send(1 - sender, Ranks::kTexts, message)
                                                  : ranks.receive(sender, Ranks::kTexts, message);
      ranks.wait(way);
    }
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / 2);
  }
  return best;
}

// The best of `rounds` in which each sends to the other, both at once.
double seconds_of_exchange(Ranks& ranks, size_t bytes, int rounds) {
  std::vector<std::byte> outgoing(bytes);
  std::vector<std::byte> incoming(bytes);
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    const int other = 1 - ranks.rank();
    Ranks::Message received = ranks.receive(other, Ranks::kTexts, incoming);
    Ranks::Message sent = ranks.send(other, Ranks::kTexts, outgoing);
    ranks.wait(received);
    ranks.wait(sent);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

int measure_link() {
  const absl::StatusOr<std::unique_ptr<Ranks>> ranks = start_mpi_ranks();
  if (!ranks.ok() || (*ranks)->size() != 2) {
    std::fprintf(stderr, "error: two ranks of MPI are needed\n");
    return 1;
  }
  const double latency = seconds_of_message(**ranks, 8, 2000);
  constexpr size_t kLarge = size_t{32} << 20;
  const double large = seconds_of_exchange(**ranks, kLarge, 4);
  if ((*ranks)->leads()) {
    std::printf("{\"latency\": %.3g, \"bytes_per_second\": %.4g}\n", latency,
                static_cast<double>(kLarge) / large);
  }
  return 0;
}

}  // namespace
}  // namespace qkv

int main() { return qkv::measure_link(); }
