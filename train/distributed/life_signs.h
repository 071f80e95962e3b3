#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qkv {

// What a rank tells of itself, about once a second.
struct LifeSign {
  enum What : int64_t {
    kWorks,   // it computes, or reads or writes files
    kWaits,   // for other ranks
    kIdles,   // neither: something blocks it
    kLeaves,  // it is at its end; no other sign comes after this
  };
  int64_t what = kWorks;
  int64_t arrivals = 0;  // messages that came to it so far
};

// Judges, by the signs of life of other ranks, whether all can still go on together. Rank 0 hears
// all ranks, and the others hear rank 0.
//
// What is long is not wrong: a rank that works, and shows it, may take hours for a step. Wrong is
// that a rank is silent, that it idles, or that all wait for one another, each for so long.
class LifeSigns {
 public:
  // `patience`: so many seconds. `names` of the ranks, for a person.
  LifeSigns(int rank, std::vector<std::string> names, double patience);

  // Anything came from this rank.
  void heard(int from) { ranks_[static_cast<size_t>(from)].silence = 0; }
  void heard(int from, const LifeSign& sign);
  // What this rank would tell. To be said before each pass().
  void note_own(const LifeSign& sign);

  // So many seconds have passed. Returns a sentence that names the rank that ends the run, or "".
  std::string pass(double seconds);

  // All that are heard have left.
  bool alone() const;

 private:
  struct Rank {
    LifeSign sign;
    double silence = 0, idleness = 0;  // in seconds
  };
  bool hears(size_t rank) const { return rank != self_ && (self_ == 0 || rank == 0); }
  bool all_wait() const;
  int64_t arrivals() const;

  size_t self_;
  std::vector<std::string> names_;
  double patience_;
  std::vector<Rank> ranks_;
  double all_waited_ = 0;  // in seconds, during which nothing arrived anywhere
  int64_t arrived_ = 0;
};

}  // namespace qkv
